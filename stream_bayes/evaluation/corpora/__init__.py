"""Labelled mails out of files and folders: in order, one at a time, with counts and errors that name the place.

mail          `Mail`, and what readers share
corpus        `open_corpus`, `Corpus`, `Counts`
recognise     which format it is
trec, folders, mbox, maildir, delimited, json_lines    a reader for each format
files, labels, seen    files in natural order, words for spam and ham, ids in bounded memory
listing       what corpora there are
downloads     public ones, by river
"""

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora.corpus import Corpus, Counts, open_corpus
from stream_bayes.evaluation.corpora.mail import Mail

__all__ = ["Corpus", "CorpusError", "Counts", "Mail", "open_corpus"]
