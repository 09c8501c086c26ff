"""The only place that knows SQL text: the client's is read into algebra here, and engines' is written from it.

Text to a tree    parse, strict, guard: what sqlglot makes of it, and what of that is refused; lexer: statements apart
Queries           lower, the way in; select, block, relations, joins: one SELECT; subqueries, attached: those within;
                  combined, groupings, windows, frames, series, calls, lowered, names, headings, shapes
Expressions       expressions, the way in; functions, operators, types, literals, intervals, moments, arrays, row_tests;
                  aggregates, spellings, pairs; composed, dates, text_calls, patterns: functions made of others
Algebra to text   render, the way in; dialects: how engines differ; scalars, numbers, times, texts, casts, pair_sums:
                  expressions that cannot fail on data; spark, truncation, reduction, ties
"""
