"""Relational algebra to the text of an engine: deterministic, and without errors that depend on data.

The way in     renderer: each kind of node as one block of SQL
Rows           truncation: tables as the policy cuts them; ties: one order for all engines; reduction: groups that
               a join asks for
Expressions    scalars: each function; numbers, times, texts, casts: such as cannot fail; pairs: sums of two columns
Engines        spark: what it may be asked
"""

from dp4sql.sql.render.renderer import Block, Renderer

__all__ = ["Block", "Renderer"]
