"""Baselines: filters of other projects, run as `MailFilter`s over the same stream.

    vowpal-wabbit, vowpal-wabbit-2-grams    logistic regression on words, and with pairs of words
    sklearn-sgd, sklearn-naive-bayes        on hashed characters and hashed words
    river-naive-bayes, river-logistic       on bags of words, and on TFIDF
    bogofilter, crm114                      the programs, where they are installed

The programs get raw mails, the others the first 4,000 bytes as text; see each class. The options are the defaults, or
others that were measured to be better. A library is imported when its baseline is made.

base                what the baselines share: `Baseline`
vowpal_wabbit, scikit_learn, river_models, bogofilter, crm114       one module for each project
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


class _Availability(NamedTuple):
    make: Callable[[], MailFilter]
    hint: str
    module: str = ""
    programs: tuple[str, ...] = ()

    @property
    def is_installed(self) -> bool:
        return all(map(which, self.programs)) and (not self.module or find_spec(self.module) is not None)


_VOWPAL_WABBIT = "pip install vowpalwabbit"
_SCIKIT_LEARN = "pip install scikit-learn"
_RIVER = "pip install river"
_BASELINES: dict[str, _Availability] = {
    "vowpal-wabbit": _Availability(VowpalWabbit, _VOWPAL_WABBIT, "vowpalwabbit"),
    "vowpal-wabbit-2-grams": _Availability(partial(VowpalWabbit, 2), _VOWPAL_WABBIT, "vowpalwabbit"),
    "sklearn-sgd": _Availability(SgdCharacters, _SCIKIT_LEARN, "sklearn"),
    "sklearn-naive-bayes": _Availability(NaiveBayesWords, _SCIKIT_LEARN, "sklearn"),
    "river-naive-bayes": _Availability(RiverNaiveBayes, _RIVER, "river"),
    "river-logistic": _Availability(RiverLogistic, _RIVER, "river"),
    "bogofilter": _Availability(Bogofilter, "apt-get install bogofilter", programs=("bogofilter",)),
    "crm114": _Availability(Crm114, "apt-get install crm114", programs=("crm", "cssutil")),
}


def available() -> dict[str, Callable[[], MailFilter]]:
    """The constructors of the installed baselines, by name."""
    return {name: entry.make for name, entry in _BASELINES.items() if entry.is_installed}


def missing() -> dict[str, str]:
    """How to install each missing baseline, by name."""
    return {name: entry.hint for name, entry in _BASELINES.items() if not entry.is_installed}
