"""Features: dicts of features become rows of columns and values.

batch        Batch: events as a sparse matrix in CSR form
frames       EventTable: data frames of pandas and polars, and numpy arrays
vocabulary   columns of feature names, exact or hashed
hashing      hash_words: texts as counts of hashed words
transformers PolynomialFeatures and LagFeatures, for river pipelines
values       types and checks of feature values

The names load when they are first used, so that importing the package loads no kernels.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_bayes.features.batch import Batch, Names
    from stream_bayes.features.frames import EventTable, series_values
    from stream_bayes.features.hashing import hash_words
    from stream_bayes.features.transformers import LagFeatures, PolynomialFeatures
    from stream_bayes.features.vocabulary import HashedVocabulary, Vocabulary, open_vocabulary

__all__ = [
    "Batch",
    "EventTable",
    "HashedVocabulary",
    "LagFeatures",
    "Names",
    "PolynomialFeatures",
    "Vocabulary",
    "hash_words",
    "open_vocabulary",
    "series_values",
]

_MODULES = {
    "Batch": "batch",
    "HashedVocabulary": "vocabulary",
    "LagFeatures": "transformers",
    "Names": "batch",
    "PolynomialFeatures": "transformers",
    "EventTable": "frames",
    "Vocabulary": "vocabulary",
    "hash_words": "hashing",
    "open_vocabulary": "vocabulary",
    "series_values": "frames",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
