"""The only place that knows SQL text: the client's is read into algebra here, and engines' is written from it.

client's text -> parse -> sqlglot tree -> lower -> algebra -> render -> engine's text

parse       text to a tree, and strict: what sqlglot lets pass and Postgres does not; lexer: statements apart
lower       a tree to algebra: `lower`, `Statement`
render      algebra to text: `Renderer`
dialects    how engines differ; literals, intervals: values from text; pair_sums: formulas that both sides read

`lower` and `render` know nothing of each other: what they share is the algebra, and the modules here.
"""
