"""From events to arrays: dicts of features become rows of columns and values."""

from stream_bayes.features.batch import Batch
from stream_bayes.features.vocabulary import HashedVocabulary, Vocabulary, open_vocabulary

__all__ = ["Batch", "HashedVocabulary", "Vocabulary", "open_vocabulary"]
