"""Calls of functions of texts: their types, and which arguments have to be constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from dp4sql.algebra.expr import Call, Expr, Lit
from dp4sql.algebra.types import BOOLEAN, INTEGER, JSONB, TEXT, TEXTS
from dp4sql.errors import Unsupported
from dp4sql.sql.lower.expressions.operators import unknown
from dp4sql.sql.parse import position

if TYPE_CHECKING:
    from dp4sql.sql.lower.expressions import Expressions
    from dp4sql.sql.lower.expressions.functions import Functions

LONGEST: Final = 1000
"""Characters that LPAD, RPAD and REPEAT may make."""


class TextCalls:
    """Lowers one call; `calls.ex` lowers its arguments."""

    def __init__(self, calls: Functions) -> None:
        self.calls = calls
        self.ex: Expressions = calls.ex

    def lower(self, e: exp.Expr) -> Expr:
        match e:
            case exp.DPipe():
                return self._joined(e)
            case exp.Concat():
                return self._concat(e)
            case exp.Substring():
                return self._substring(e)
            case exp.Trim():
                return self._trim(e)
            case exp.StrPosition():
                return self.ex.text_call("position", [e.this, e.args["substr"]], INTEGER)
            case exp.Replace() if e.args.get("replacement") is not None:
                return self.ex.text_call(
                    "replace", [e.this, e.expression, e.args["replacement"]], TEXT
                )
            case exp.StartsWith():
                return self.ex.text_call("starts_with", [e.this, e.expression], BOOLEAN)
            case exp.Left() | exp.Right():
                op = "left" if isinstance(e, exp.Left) else "right"
                return Call(op, (self._text(e.this, op), self.calls.whole(e.expression)), TEXT)
            case exp.JSONExtract() | exp.JSONExtractScalar():
                return self._field(e)
            case _:
                return self._with_constants(e)

    def _with_constants(self, e: exp.Expr) -> Expr:
        match e:
            case exp.SplitPart():
                return self._split_part(e)
            case exp.Pad():
                return self._padded(e)
            case exp.Translate():
                return self._translated(e)
            case exp.Repeat():
                return self._repeated(e)
            case exp.Chr():
                return self._character(e)
            case _:
                raise unknown(e)

    # ------------------------------------------------------------ putting together

    def _concat(self, e: exp.Concat) -> Expr:
        """CONCAT, and CONCAT_WS, whose first argument stands between the others that are not NULL."""
        op = "concat_ws" if isinstance(e, exp.ConcatWs) else "concat"
        parts = [self.ex.coerce(self.ex.lower(part), TEXT) for part in e.expressions]
        self.ex.need(op == "concat" or len(parts) > 1, "concat_ws takes what to put together", e)
        texts = (p if p.type == BOOLEAN else self._as_text(p, e) for p in parts)
        return Call(op, tuple(texts), TEXT)

    def _joined(self, e: exp.DPipe) -> Expr:
        """`||` of texts; one that is no text is written as one, as Postgres does beside a text."""
        parts = [self.ex.coerce(self.ex.lower(part), TEXT) for part in (e.this, e.expression)]
        self.ex.need(
            any(part.type.kind in TEXTS for part in parts),
            f"operator does not exist: {parts[0].type.kind} || {parts[1].type.kind}",
            e,
        )
        return Call("||", tuple(self._as_text(part, e) for part in parts), TEXT)

    def _as_text(self, arg: Expr, at: exp.Expr) -> Expr:
        arg = self.ex.coerce(arg, TEXT)
        return (
            self.ex.cast(arg, TEXT, at)
            if arg.type.kind not in ("text", "character varying")
            else arg
        )

    # ------------------------------------------------------------ taking apart

    def _substring(self, e: exp.Substring) -> Expr:
        text = self._text(e.this, "substring")
        start, length = e.args.get("start"), e.args.get("length")
        if isinstance(start, exp.Literal) and start.is_string and not start.name.isdigit():
            raise Unsupported(
                "SUBSTRING with a regular expression is not supported",
                hint="SUBSTRING(x FROM 2 FOR 3) takes by place, SPLIT_PART(x, '-', 1) by a delimiter.",
                position=position(start) or position(e),
            )
        first = self.calls.whole(start) if start is not None else Lit(1, INTEGER)
        if length is None:
            return Call("substring", (text, first), TEXT)
        size = self.calls.whole(length)
        if not isinstance(size, Lit) or not isinstance(size.value, int) or size.value < 0:
            raise Unsupported(
                "SUBSTRING needs a constant length of 0 or more",
                position=position(length) or position(e),
            )
        return Call("substring", (text, first, size), TEXT)

    def _trim(self, e: exp.Trim) -> Expr:
        side = str(e.args.get("position") or "BOTH").upper()
        op = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side, "trim")
        return self.ex.text_call(op, [e.this, *([e.expression] if e.expression else [])], TEXT)

    def _split_part(self, e: exp.SplitPart) -> Expr:
        text = self._text(e.this, "split_part")
        delimiter, place = self._constant(e.args["delimiter"]), self._number(e.args["part_index"])
        if not delimiter or not place or (place < 0 and len(delimiter) > 1):
            raise Unsupported(
                "SPLIT_PART needs constants: a delimiter, and the number of a part from 1, or from -1 at the "
                "end where the delimiter is one character",
                hint="For instance SPLIT_PART(email, '@', 2).",
                position=position(e),
            )
        return Call("split_part", (text, Lit(delimiter, TEXT), Lit(place, INTEGER)), TEXT)

    # ------------------------------------------------------------ character by character

    def _padded(self, e: exp.Pad) -> Expr:
        op = "lpad" if e.args.get("is_left") else "rpad"
        text, size = self._text(e.this, op), self._number(e.expression)
        fill = e.args.get("fill_pattern")
        filler = " " if fill is None else self._constant(fill)
        if size is None or filler is None or size > LONGEST:
            raise Unsupported(
                f"{op.upper()} needs constants: a length of at most {LONGEST}, and what to fill with",
                hint=f"For instance {op.upper()}(code, 8, '0').",
                position=position(e),
            )
        length = Lit(max(0, size), INTEGER)
        if not filler:
            return Call("left", (text, length), TEXT)
        return Call(op, (text, length, Lit(filler, TEXT)), TEXT)

    def _translated(self, e: exp.Translate) -> Expr:
        text = self._text(e.this, "translate")
        source, target = self._constant(e.args["from_"]), self._constant(e.args["to"])
        if source is None or target is None:
            raise Unsupported(
                "TRANSLATE needs constants: the characters to replace, and those that replace them",
                hint="For instance TRANSLATE(phone, '()-', '').",
                position=position(e),
            )
        # The first of equal characters counts in Postgres.
        pairs = {c: target[i : i + 1] for i, c in reversed(list(enumerate(source)))}
        kept = sorted(pairs, key=lambda c: not pairs[c])
        found = ("".join(kept), "".join(pairs[c] for c in kept))
        return Call("translate", (text, *(Lit(part, TEXT) for part in found)), TEXT)

    def _repeated(self, e: exp.Repeat) -> Expr:
        text, times = self._constant(e.this), self._number(e.args["times"])
        if text is None or times is None or len(text) * times > LONGEST:
            raise Unsupported(
                f"REPEAT needs a constant text and number, and makes at most {LONGEST} characters",
                hint="LPAD(x, 8, '0') fills a text up.",
                position=position(e),
            )
        return Lit(text * times, TEXT)

    def _character(self, e: exp.Chr) -> Expr:
        code = self._number(e.expressions[0]) if len(e.expressions) == 1 else None
        if code is None or not 0 < code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise Unsupported(
                "CHR needs a constant that is the code of a character",
                hint="For instance CHR(10), the end of a line.",
                position=position(e),
            )
        return Lit(chr(code), TEXT)

    # ------------------------------------------------------------ arguments

    def _text(self, e: exp.Expr, name: str) -> Expr:
        text = self.ex.coerce(self.ex.lower(e), TEXT)
        self.ex.need(
            text.type.kind in TEXTS, f"function {name}({text.type.kind}) does not exist", e
        )
        return text

    def _constant(self, e: exp.Expr) -> str | None:
        found = self.ex.coerce(self.ex.lower(e), TEXT)
        known = isinstance(found, Lit) and isinstance(found.value, str)
        return str(found.value) if known and isinstance(found, Lit) else None

    def _number(self, e: exp.Expr) -> int | None:
        found = self.calls.whole(e)
        known = isinstance(found, Lit) and isinstance(found.value, int)
        return int(str(found.value)) if known and isinstance(found, Lit) else None

    def _field(self, e: exp.JSONExtract | exp.JSONExtractScalar) -> Expr:
        """`->` and `->>` with the name of a field."""
        op, type = ("->>", TEXT) if isinstance(e, exp.JSONExtractScalar) else ("->", JSONB)
        arg = self.ex.lower(e.this)
        self.ex.need(arg.type == JSONB, f"operator does not exist: {arg.type.kind} {op} unknown", e)
        match e.expression:
            case exp.JSONPath(expressions=[_, exp.JSONPathKey(this=str(name))]) if '"' not in name:
                return Call(op, (arg, Lit(name, TEXT)), type)
            case _:
                raise Unsupported(
                    f"{op} takes the name of a field as a constant",
                    hint="As in slots ->> 'title'.",
                    position=position(e),
                )
