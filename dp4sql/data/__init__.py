"""Demonstration data: a synthetic university and TPC-H."""
