"""From a text to its score row: how near each public category is, in thousandths.

Scorers are public functions of a text, so they may run on private values. The first of a field's scorers
that knows the text answers; NULL and texts that none knows get the flat row.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias, assert_never

from dp4sql.algebra.types import Value
from dp4sql.mechanisms.profile import embedding
from dp4sql.mechanisms.profile.channel import SCALE, Levels, flat, one_hot
from dp4sql.policy.profiles import Category, Domain, Field
from dp4sql.policy.profiles.types import ScorerName, normal

Grams: TypeAlias = Counter[str]

GRAM = 3


def score(field: Field, value: Value) -> Levels:
    """The score row of a value of `field`; a value off the field's public list scores like NULL."""
    assert field.domain is not None
    text = None if value is None else normal(str(value))
    if text is None or (field.values is not None and text not in field.values):
        return flat(len(field.domain.categories))
    return _scored(field, text)


@lru_cache(maxsize=65536)
def _scored(field: Field, text: str) -> Levels:
    assert field.domain is not None
    rows = (_row(field, field.domain, scorer, text) for scorer in field.scorers)
    return next((row for row in rows if row is not None), flat(len(field.domain.categories)))


def listed_rows(field: Field) -> tuple[Levels, ...] | None:
    """Every row that a value of `field` can have, each once; None when any text may come."""
    if field.values is None:
        return None
    return tuple(dict.fromkeys([score(field, None), *(score(field, v) for v in field.values)]))


def samples(field: Field) -> tuple[Levels, ...]:
    """Rows of known values, for figures shown beforehand: the public list, else the categories' texts."""
    assert field.domain is not None
    own = [text for category in field.domain.categories for text in category.texts]
    return tuple(_scored(field, normal(text)) for text in field.values or own)


def _row(field: Field, domain: Domain, scorer: ScorerName, text: str) -> Levels | None:
    match scorer:
        case "codebook":
            best = field.codebook.get(text)
            return None if best is None else one_hot(len(domain.categories), best)
        case "table":
            scores = field.scores.get(text)
            return None if scores is None else tuple(_level(s) for s in scores)
        case "lexical":
            return tuple(_level(_lexical(text, category)) for category in domain.categories)
        case "embedding":
            return tuple(_level(_embedded(text, category)) for category in domain.categories)
        case _:
            assert_never(scorer)


def _level(score: Fraction) -> int:
    return min(SCALE, max(0, round(score * SCALE)))


# ---------------------------------------------------------------- character n-grams


def _lexical(text: str, category: Category) -> Fraction:
    """Dice's coefficient of character trigrams with the nearest of the category's texts."""
    return max(_dice(grams(text), grams(normal(t))) for t in category.texts)


@lru_cache(maxsize=4096)
def grams(text: str) -> Grams:
    padded = f" {text} "
    return Counter(padded[i : i + GRAM] for i in range(max(1, len(padded) - GRAM + 1)))


def _dice(a: Grams, b: Grams) -> Fraction:
    return Fraction(2 * (a & b).total(), a.total() + b.total())


# ---------------------------------------------------------------- sentence vectors


def _embedded(text: str, category: Category) -> Fraction:
    """(1 + the largest cosine) / 2, as in the paper's section 4.1."""
    own = embedding.embed(text)
    cosine = max(float(own @ embedding.embed(normal(t))) for t in category.texts)
    return (1 + Fraction(cosine)) / 2
