"""From events to arrays: dicts of features become rows of columns and values."""

from stream_bayes.features.batch import Batch, Names
from stream_bayes.features.text import hash_words
from stream_bayes.features.vocabulary import HashedVocabulary, Vocabulary, open_vocabulary

__all__ = ["Batch", "HashedVocabulary", "Names", "Vocabulary", "hash_words", "open_vocabulary"]
