"""Figures 10 and 11 of the DP4SQL paper: its four TPC-H counts, under two kinds of policies."""

from __future__ import annotations

from typing import Final

#: The counts of the paper's section 9.
COUNTS: Final = {
    "Q1": "SELECT l_returnflag, COUNT(*) AS n FROM lineitem WHERE l_shipdate <= DATE '1998-09-02' "
    "GROUP BY l_returnflag",
    "Q4": "SELECT o_orderpriority, COUNT(*) AS n FROM orders WHERE o_orderdate >= DATE '1993-07-01' "
    "AND o_orderdate < DATE '1993-10-01' AND EXISTS (SELECT * FROM lineitem WHERE "
    "l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) GROUP BY o_orderpriority",
    "Q13": "SELECT c_count, COUNT(*) AS n FROM (SELECT c_custkey, COUNT(o_orderkey) AS c_count FROM "
    "customer LEFT JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE "
    "'%special%requests%' GROUP BY c_custkey) c GROUP BY c_count",
    "Q16": "SELECT p_brand, COUNT(DISTINCT ps_suppkey) AS n FROM partsupp, part WHERE "
    "p_partkey = ps_partkey AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) GROUP BY p_brand",
}

#: The paper's name of a policy: the shipped file and the one policy of it that counts.
POLICIES: Final = {
    "U_C": ("tpch_u", "customer"),
    "C": ("tpch", "customer"),
    "U_S": ("tpch_u", "supplier"),
    "S": ("tpch", "supplier"),
}

#: Sensitivity by the rules as printed, which `benchmarks.paper` computes. Some are too small to be
#: sound (docs/soundness.md).
PRINTED: Final = {
    ("Q1", "U_C"): 287,
    ("Q4", "U_C"): 287,
    ("Q13", "U_C"): 82,
    ("Q1", "C"): 287,
    ("Q4", "C"): 287,
    ("Q13", "C"): 246,
    ("Q1", "U_S"): 694,
    ("Q4", "U_S"): 694,
    ("Q16", "U_S"): 80,
    ("Q1", "S"): 694,
    ("Q4", "S"): 694,
    ("Q16", "S"): 0,
}
