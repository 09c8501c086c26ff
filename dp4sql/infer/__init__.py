"""How much one entity can change a view, by the rules of the paper (docs/soundness.md has their arguments).

derive applies the rules to each node: bases (tables), unary, binary, grouping. terms are what they conclude,
rules their names, derivation what EXPLAIN prints, reasons why a bound is infinite. release and squares turn
terms into L1 and L2 bounds. facts, frequencies, ranges and moments hold of views in every admissible database,
whatever the policy.
"""
