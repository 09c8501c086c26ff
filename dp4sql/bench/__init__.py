"""Measurements that anybody can repeat: what privacy costs in time and in accuracy."""
