"""Scalar expressions of sqlglot to typed ones of the algebra; they know nothing of the query around them.

The way in     lowering: each kind of node; types: those of Postgres, and what operators make of them
Operators      operators, row_tests: comparisons of rows; arrays: ANY and ALL
Functions      functions, text_calls; composed, dates, patterns: those that are made of others
Time           moments: now and today, fixed for a statement
"""

from dp4sql.sql.lower.expressions.lowering import Expressions

__all__ = ["Expressions"]
