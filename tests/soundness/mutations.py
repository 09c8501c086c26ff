"""Deliberate mistakes in the rules, and in how their SQL is rendered, each a small change of one source text.

A mutation that is not found exactly once in its module is stale and fails the run: the list follows the code.
What its databases never hold it cannot find: a declared range taken for a proof is pinned instead
(tests/soundness/test_departures.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Oracle: TypeAlias = Literal["rules", "duckdb", "postgres", "both"]


@dataclass(frozen=True, slots=True)
class Mutation:
    """In `module` the text `old` becomes `new`. `oracle`: who is to find it, the oracle of the rules, that of
    wild values on an engine, or that of two engines' answers."""

    name: str
    module: str
    old: str
    new: str
    oracle: Oracle = "rules"

    def apply(self, source: str) -> str:
        if source.count(self.old) != 1:
            raise LookupError(
                f"{self.name}: {self.old!r} stands {source.count(self.old)} times in {self.module}"
            )
        return source.replace(self.old, self.new)

    @property
    def shows_in_answers(self) -> bool:
        """Whether the bound stays right and what is read does not."""
        return self.module.startswith("dp4sql.sql.") or self.module in (
            "dp4sql.mechanisms.bins.finder",
            "dp4sql.mechanisms.origin",
        )


def _in(
    module: str, *changes: tuple[str, str, str], oracle: Oracle = "rules"
) -> tuple[Mutation, ...]:
    return tuple(Mutation(name, module, old, new, oracle) for name, old, new in changes)


RULES: tuple[Mutation, ...] = (
    *_in(
        "dp4sql.infer.terms",
        ("a key that moves touches one group", "if term.fixes(columns) else both", "if True else both"),
        ("no column ever changes", "return not self.attrs & columns", "return True"),
        ("Opt without attributes vanishes", 't.kind == "Rep" and not t.attrs', "not t.attrs"),
    ),
    *_in(
        "dp4sql.infer.unary",
        ("T-Sel3: a filter on a private column keeps rows", "term.attrs & read else", "False else"),
        ("T-Prj: computed columns never change", "if reads(expr) & term.attrs", "if isinstance(expr, Col) and reads(expr) & term.attrs"),
        ("T-Grp: replaced values do not move aggregates", "agg.arg is not None and agg.arg in attrs", "False"),
        ("T-Grp: deletions do not move groups", "wild = [t for t in terms if not t.stays(keys)]", 'wild = [t for t in terms if t.kind == "Rep" and not t.stays(keys)]'),
        ("T-Grp: groups never come or go", 'Term("Opt", _touched(wild, keys)', 'Term("Rep", _touched(wild, keys)'),
        ("T-Grp: calm rows do not move groups", 'Term("Rep", _touched(calm, keys)', 'Term("Rep", 0'),
        ("X-GrpAll: one row whatever happens", 'if all(term.kind == "Rep" for term in terms):', "if terms:"),
        ("X-GrpKey: aggregates of single rows stay", "attrs=(term.attrs & keys) | affected(aggs, term.attrs)", "attrs=term.attrs & keys"),
        ("X-Distinct: Rep stays Rep", 'kind = "Opt" if term.kind == "Rep" else term.kind', "kind = term.kind"),
        ("X-Union: the right side is public", "*renamed(right, right_names)", ""),
        ("X-GrpLeft: only rows that stay count", "for t in view.right))\n    left", "for t in calm))\n    left"),
        ("X-GrpLeft: matches do not move counts", "from_right = every if roaming else", "from_right ="),
    ),
    *_in(
        "dp4sql.infer.binary",
        ("T-Join: no fan-out", "n = times(term.n, partner.frequency)", "n = term.n"),
        ("T-Join: the right side is public", "*_one_side(right, left, back))", ")"),
        ("T-Join4: a key that moves finds its rows", 'case "Rep" if term.fixes(own.keys)', 'case "Rep"'),
        ("T-Join4: a new partner looks the same", "attrs = term.attrs | partner.columns", "attrs = term.attrs"),
        ("D1: a public child sees no change of its parent", "else changed(view.parent))", "else frozenset())"),
        ("D2: another parent looks the same", "whole_parent = moves or (", "whole_parent = ("),
        ("D3: a filtered parent is always found", "return not view.total", "return False"),
        ("T-Key: an Opt child stays", "comes_or_goes(view.child) or _may_lose", "_may_lose"),
        ("X-Left: a lost parent is not padded", "whole_parent = moves or (view.keeps_child and parent_flickers)", "whole_parent = moves"),
        ("X-LeftOne: changed rows meet what they met", "replace(t, attrs=t.attrs | right.columns) if moved", "replace(t, attrs=t.attrs) if moved"),
        ("X-LeftOne: one left row a key", "times(touched(t, right.keys), left.frequency)", "touched(t, right.keys)"),
        ("X-LeftOne: padding is no change", "t.attrs if t.stays(right.keys) else right.columns", "t.attrs"),
        ("X-LeftOne: only rows with other keys meet others", "if moved or not t.fixes(left.keys) else t", "if moved else t"),
        ("X-Semi: only matches that move count", "roaming or not t.fixes(view.left_reads)", "roaming"),
        ("X-Semi: one row a match", "times(slots, view.left_frequency)", "slots"),
        ("X-Semi: conditions on the right do not matter", "not t.stays(view.right_reads)", "not t.stays(view.right_keys)"),
        ("X-Hang: rows never come or go", '"Opt" if flickers else "Rep"', '"Rep"'),
    ),
    *_in(
        "dp4sql.infer.derive",
        ("T-Key: NULL finds a parent", "total=above.total and not any(columns[a].nullable for a, _ in pairs)", "total=above.total"),
        ("T-Join: conditions in ON do not matter", "terms if node.residual is None else unary.select(terms, node.residual)", "terms"),
        ("X-Left: rows that match are not counted", "terms = self._matched(node)", "terms = binary.padded(self._matched(node), ids(node.right))"),
        ("NOT IN: NULL matches nothing", "if nullable and (", "if False and ("),
        ("X-Hang: any link is the only one", "len(links) != 1 or frozenset(links[0].columns)", "not links or frozenset(links[0].columns)"),
        ("X-Hang: the link may change", "if changed(self.terms(right)) & frozenset(b for _, b in pairs):", "if False:"),
        ("X-Hang: its own columns decide no match", "flickering or bool(changed(premises[0].terms) & reads_own)", "flickering"),
        ("X-GrpHang: what hangs on a row moves no aggregate", "if a in changed(left)) | every", "if a in changed(left))"),
        ("X-GrpHang: keys stay", "frozenset(key for a, key in renamed if a in changed(left)) | every", "every"),
        ("X-Left: unmatched rows are public", 'if node.kind in ("left", "full"):', 'if node.kind == "full":'),
        ("X-GrpLeft: any key is a single row", " or self.facts.freq(join.left, keys, nulls=True) != 1", ""),
        ("X-GrpKey: NULLs are single rows", "if self.facts.freq(node.child, keys, nulls=True) == 1", "if self.facts.freq(node.child, keys) == 1"),
    ),
    *_in(
        "dp4sql.infer.bases",
        ("X-Trunc: what comes in looks the same", "if c not in kept)\n        return Term", "if False)\n        return Term"),
        ("X-Trunc: displaced rows hang on their owner", "return None if anchor is None or anchor.table.name in self.displaced else anchor", "return anchor"),
        ("distinct: one of several links", "if len(links) != 1 or table.name == self.policy.entity:\n            return {}\n        (link,) = links", "if not links or table.name == self.policy.entity:\n            return {}\n        link = links[0]"),
        ("distinct: moved references stay together", "after = self.owned[table.name] if moves else parents", "after = parents"),
    ),
    *_in(
        "dp4sql.infer.facts",
        ("D5: any join hangs on one row", "if below and above and facts.key_join(child, parent, pairs):", "if below and above:"),
        ("range: a sum of rows is one value", "max(span[1], span[1] * rows)", "span[1]"),
        ("range: outer joins do not pad", "{**left, **_padded(right)}", "{**left, **right}"),
    ),
    *_in(
        "dp4sql.infer.frequencies",
        ("D4: one row a value of any grouping column", "if not keys or frozenset(keys) <= on:", "if not keys or frozenset(keys) & on:"),
        ("freq: joined rows keep their frequency", "times(facts.freq(node.left, x1, nulls), facts.freq(node.right, firm2 | k2))", "facts.freq(node.left, x1, nulls)"),
        ("freq: NULLs tell joined rows apart", "_firm(facts, side, x) if nulls else x for", "x if nulls else x for"),
        ("freq: a declared frequency holds for NULL", "names = frozenset(n for n in names if not table.columns[n].nullable)", "names = frozenset(names)"),
        ("freq: DISTINCT of many columns is one", "return 1 if ids(child) <= on else", "return 1 if ids(child) & on else"),
        ("freq: UNION ALL does not add", "return plus(\n                facts.freq(left", "return most(\n                facts.freq(left"),
    ),
    *_in(
        "dp4sql.infer.release",
        ("S-Cnt: a moved row is one group", "times(term.n, 2 * m)", "times(term.n, m)"),
        ("S-Sum: a value that changes and goes", "swing(summand) if varies else m)", "m)"),
        ("S-Sum: a value moves by its size", "times(term.n, summand.high - summand.low) if varies", "times(term.n, m) if varies"),
        ("X-Sum1: a value that changes and goes", "swing(summand) if varies else reach(summand)", "reach(summand)"),
        ("X-Cnt1: only what rises counts", "return most(up, down)", "return up"),
        ("COUNT(DISTINCT x): values never change", "if summand.distinct and", "if False and"),
    ),
    *_in(
        "dp4sql.infer.squares",
        ("L2: a moved row is one group", "max(2 * once, whole)", "max(once, whole)"),
        ("L2: a value that changes where it is", "return max(2 * once, whole)", "return 2 * once"),
        ("L2: slots move apart", "slots = times(n, plus(", "slots = times(1, plus("),
        ("L2: one group has one row of an entity", "known.append(times(bound, reach(summand), together))", "known.append(times(bound, reach(summand)))"),
        ("L2: whatever moves comes or goes", 'if all(term.kind == "Del" for term in terms) or all(term.kind == "Add" for term in terms):', "if True:"),
    ),
    *_in(
        "dp4sql.infer.ranges",
        ("range: products of the ends in order", "(min(products), max(products))", "(products[0], products[-1])"),
    ),
    *_in(
        "dp4sql.mechanisms.measure",
        ("a NULL is in the range", "first, last = min(first, 0), max(last, 0)", "pass"),
    ),
    *_in(
        "dp4sql.sql.render.renderer",
        ("NOT EXISTS is EXISTS", '"NOT EXISTS" if node.anti else "EXISTS"', '"EXISTS"'),
        ("DISTINCT is lost", '"SELECT DISTINCT "', '"SELECT "'),
        ("a filter below an outer join is lost", "FROM {block.source}{_where(block.where)}\"\n        return Block(f", "FROM {block.source}\"\n        return Block(f"),
        ("UNION ALL is UNION", " UNION ALL ", " UNION "),
        ("a LEFT JOIN is a JOIN", '"left": "LEFT JOIN"', '"left": "JOIN"'),
    ),
    *_in(
        "dp4sql.mechanisms.bins.finder",
        ("an outer join pads no bin", "nullable = column.nullable or leaf in self.origin.padded", "nullable = column.nullable"),
    ),
    *_in(
        "dp4sql.mechanisms.origin",
        ("a filter on a private column drops bins", "if not padded:\n                found.conditions +=", "if True:\n                found.conditions +="),
    ),
    *_in(
        "dp4sql.sql.render.truncation",
        ("rows without their parents are kept", "EXISTS (SELECT 1 FROM", "TRUE OR EXISTS (SELECT 1 FROM"),
        ("truncation leaves NULLs out", "{_or_null(bound, dialect)}", ""),
    ),
    *_in(
        "dp4sql.policy.truncation",
        ("X-Trunc: a row that moves displaces one", "return 2 if attributes & bound.columns else 0", "return 1 if attributes & bound.columns else 0"),
        ("X-Trunc: a deleted row makes no room", "return 0 if settles_owner(schema, policy.entity, table.name, bound.columns) else 1", "return 0"),
    ),
    *_in(
        "dp4sql.algebra.ownership",
        ("owner's key: one of several links", "return links[0] if len(links) == 1 else None", "return links[0] if links else None"),
        ("ownership through one of several links", "plus(*paths)", "least(*paths)"),
    ),
)  # fmt: skip
WILD: tuple[Mutation, ...] = (
    *_in(
        "dp4sql.sql.lower.windows",
        ("frame: as the client wrote it", "self._frame(spec, order, e) if", 'spec.sql(dialect="postgres") if'),
        oracle="duckdb",
    ),
    *_in(
        "dp4sql.sql.lower.lowering",
        ("names: two columns of one name are one", "while candidate in self._taken:", "while False:"),
        oracle="duckdb",
    ),
    *_in(
        "dp4sql.sql.render.numbers",
        ("constants: longer than any type", "if not exact or together(args) is not None:", "if True:"),
        ("clamp: no upper end", 'f"CASE {inside} WHEN {value} > {high} THEN {results[2]} {below}ELSE', 'f"CASE {inside} WHEN {value} > {high} THEN {results[0]} {below}ELSE'),
        oracle="duckdb",
    ),
    *_in(
        "dp4sql.sql.render.numbers",
        ("doubles: numbers that no double holds", 'return arg.type.kind == "numeric" and width(arg) is None and dialect.name == "postgres"', "return False"),
        ("clamp: digits beyond those declared", "if own is None or args[0].type.kind in INTEGERS or", "if True or"),
        oracle="postgres",
    ),
    *_in(
        "dp4sql.sql.render.casts",
        ("casts: integers beyond their ends", 'inside = f"{text} BETWEEN -{limit} AND {limit - 1}"', 'inside = f"{text} IS NOT NULL"'),
        ("casts: dates from any text", 'return f"TRY_CAST({text} AS {name})"', 'return f"CAST({text} AS {name})"'),
        oracle="duckdb",
    ),
    *_in(
        "dp4sql.sql.render.times",
        ("moments: any interval later", "f\"CASE WHEN {time} BETWEEN TIMESTAMP '{first}' AND TIMESTAMP '{last}' THEN {inner} END\"", "inner"),
        ("moments: cut at the end of the calendar", "f\"CASE WHEN {far} THEN CAST('infinity' AS {name}) ELSE {found} END\"", "found"),
        ("moments: days that months lack", 'f"CASE WHEN {there} THEN MAKE_DATE({parts}) END"', 'f"MAKE_DATE({parts})"'),
        oracle="duckdb",
    ),
    *_in(
        "dp4sql.sql.render.truncation",
        ("truncation: a column has the rank's name", "if (name := f\"place{n or ''}\") not in taken", "if (name := f\"place{n or ''}\")"),
        oracle="duckdb",
    ),
    *_in(
        "dp4sql.mechanisms.reading.placement",
        ("ranks: texts outside the domain", "f\"{text} IN ({', '.join(known)})\"", 'f"{text} IS NOT NULL"'),
        ("ranks: dates beyond the range", 'f"LEAST(GREATEST({text}, {first}), {last})"', "text"),
        ("ranks: numbers beyond the range", "CASE WHEN {value} < {low:f} THEN 0 WHEN {value} > {high:f} THEN {top} ELSE {near} END", "{near}"),
        oracle="duckdb",
    ),
    *_in(
        "dp4sql.mechanisms.reading.statements",
        ("two parts: rows out of range twice", "usual = inside.select(inside.items, *tests)", "usual = inside.select(inside.items)"),
        oracle="duckdb",
    ),
    *_in(
        "dp4sql.backends.copied",
        ("COPY: no number is negative", 'int.from_bytes(data, "big", signed=True)', 'int.from_bytes(data, "big")'),
        ("COPY: all days are Python's", "if abs(days) >= 2**31 - 1:", "if False:"),
        oracle="postgres",
    ),
    *_in(
        "dp4sql.backends.copied",
        ("COPY: NULL is an empty text", "None if size < 0 else read(", "read("),
        oracle="both",
    ),
)  # fmt: skip
MUTATIONS = RULES + WILD
