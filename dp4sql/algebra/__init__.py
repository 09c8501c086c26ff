"""Relational algebra, and what is known of it without any policy.

nodes, expr and types are what a query is made of, schema what it is over; bounds and ownership are the paper's;
functions is the allow-list; digits, lengths, times and jsonb are about values.
"""
