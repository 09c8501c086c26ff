"""The SQL that a release reads: exact integers a bin, and histograms for ranks.

statements  the way in: one SELECT for all that a release measures
holding     what is added up, held in its range
summing     one measurement, an exact integer on its grid; factoring: products, multiplied once a group
placement   the candidate that a value counts for, where MIN, MAX and percentiles choose
"""

from dp4sql.mechanisms.reading.statements import histogram_sql, read_sql, texts

__all__ = ["histogram_sql", "read_sql", "texts"]
