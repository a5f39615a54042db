"""Filters that other people wrote, run as `MailFilter`s over the same stream.

    vowpal-wabbit, vowpal-wabbit-2-grams    logistic regression on words, and with pairs of words
    sklearn-sgd, sklearn-naive-bayes        on hashed characters and hashed words
    river-naive-bayes, river-logistic       on bags of words, and on TFIDF
    bogofilter, crm114                      the programs, where they are installed

Each takes a mail as its class says: the programs raw bytes, the others the first 4,000 bytes as text. Options are those
that each comes with, or others that were measured to be better for it. A library is imported when its peer is made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from shutil import which
from typing import NamedTuple

from stream_bayes.evaluation.baselines.bogofilter import Bogofilter
from stream_bayes.evaluation.baselines.crm114 import Crm114
from stream_bayes.evaluation.baselines.river_models import RiverLogistic, RiverNaiveBayes
from stream_bayes.evaluation.baselines.scikit_learn import NaiveBayesWords, SgdCharacters
from stream_bayes.evaluation.baselines.vowpal_wabbit import VowpalWabbit
from stream_bayes.evaluation.filters import MailFilter

__all__ = ["available", "missing"]


class _Offer(NamedTuple):
    make: Callable[[], MailFilter]
    hint: str
    module: str = ""
    programs: tuple[str, ...] = ()

    @property
    def here(self) -> bool:
        return all(map(which, self.programs)) and (not self.module or find_spec(self.module) is not None)


_VOWPAL_WABBIT = "pip install vowpalwabbit"
_SCIKIT_LEARN = "pip install scikit-learn"
_RIVER = "pip install river"
_PEERS: dict[str, _Offer] = {
    "vowpal-wabbit": _Offer(VowpalWabbit, _VOWPAL_WABBIT, "vowpalwabbit"),
    "vowpal-wabbit-2-grams": _Offer(partial(VowpalWabbit, 2), _VOWPAL_WABBIT, "vowpalwabbit"),
    "sklearn-sgd": _Offer(SgdCharacters, _SCIKIT_LEARN, "sklearn"),
    "sklearn-naive-bayes": _Offer(NaiveBayesWords, _SCIKIT_LEARN, "sklearn"),
    "river-naive-bayes": _Offer(RiverNaiveBayes, _RIVER, "river"),
    "river-logistic": _Offer(RiverLogistic, _RIVER, "river"),
    "bogofilter": _Offer(Bogofilter, "apt-get install bogofilter", programs=("bogofilter",)),
    "crm114": _Offer(Crm114, "apt-get install crm114", programs=("crm", "cssutil")),
}


def available() -> dict[str, Callable[[], MailFilter]]:
    """What makes each peer that can be run here, by name."""
    return {name: offer.make for name, offer in _PEERS.items() if offer.here}


def missing() -> dict[str, str]:
    """How to get each peer that cannot be run here, by name."""
    return {name: offer.hint for name, offer in _PEERS.items() if not offer.here}
