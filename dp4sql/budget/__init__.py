"""Costs and the ledger that bounds them."""
