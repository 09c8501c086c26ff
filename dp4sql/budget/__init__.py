"""Costs and the ledger that bounds them.

ledger decides and records; book adds up entries (entry, entries), which database keeps in sqlite or postgres.
cost, limits and terms are what is charged, what bounds it, and what a policy promises. kept has released
answers; journal, audit and report tell what happened.
"""
