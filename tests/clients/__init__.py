"""Real clients, unmodified, against the live proxy over TCP with TLS and SCRAM.

Each module drives one client through the same checks, named alike; `table.py` runs them against the
proxy and against a Postgres and writes docs/clients.md.
"""
