"""Public bins: the rows that the output of a GROUP BY has whether or not data falls into them.

finder    the way in: the bins of an aggregate
leaves    the columns that keys are made of, and which of their values anybody may know
steps     timestamps in steps of public size; values: lists and series, as rows
refusals  why there are none, and what would work
"""

from dp4sql.mechanisms.bins.finder import BinFinder

__all__ = ["BinFinder"]
