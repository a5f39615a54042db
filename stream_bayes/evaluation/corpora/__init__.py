"""Corpora of labelled mails: readers for files and folders, in order, with counts and errors that name the place.

corpus          a corpus as one stream of mails: `open_corpus`, `Corpus`, `Counts`
mail            `Mail`, the interface of readers, and what they share
ordering        the order of the mails: as stored, by time, or with the classes mixed
recognise       the detection of the format: `open_reader`
trec, folders, mbox, maildir, delimited, json_lines     a reader for each format
files           files and folders, in natural order, plain or gzip
labels          the words for spam and ham
seen_ids        a set of ids in bounded memory
listing         the corpora of a folder
downloads       public corpora, downloaded by river
"""

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora.corpus import Corpus, Counts, open_corpus
from stream_bayes.evaluation.corpora.mail import Mail

__all__ = ["Corpus", "CorpusError", "Counts", "Mail", "open_corpus"]
