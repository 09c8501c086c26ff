"""The names of all rules: the paper's where the rule is, X- where the paper has none (docs/soundness.md)."""

from __future__ import annotations

from typing import Literal, TypeAlias

Rule: TypeAlias = Literal[
    "E-Del",
    "E-Rep",
    "E-Pub",
    "F-Del",
    "F-Rep",
    "F-Pub",
    "X-Trunc",
    "X-NotOwned",
    "X-Public",
    "T-Sel1/2",
    "T-Sel3",
    "T-Prj",
    "T-Grp",
    "T-Grp4",
    "X-GrpAll",
    "X-GrpKey",
    "X-GrpLeft",
    "X-GrpHang",
    "X-Distinct",
    "X-Union",
    "X-Order",
    "T-Join",
    "T-Key",
    "X-Left",
    "X-LeftOne",
    "X-Full",
    "X-Semi",
    "X-Anti",
    "X-SemiKey",
    "X-Hang",
    "S-Cnt",
    "S-Sum",
    "X-Cnt1",
    "X-Sum1",
]
