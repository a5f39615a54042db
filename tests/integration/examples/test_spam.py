"""The example of the spam filter prints figures that scikit-learn and the law its mails are drawn by agree with."""

from __future__ import annotations

import math
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from stream_bayes import SpamFilter
from stream_bayes.evaluation.corpora import Mail, open_corpus
from tests.support.examples import ROOT, assert_not_blank, checked, rows, run


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, float]]:
    """The mails of the example in a file, and how strongly each word speaks for spam: half its log-odds."""
    example = runpy.run_path(str(ROOT / "examples" / "spam_filter.py"))
    path = example["made_up"](tmp_path_factory.mktemp("mails") / "mails.mbox")
    words = example["WORDS"].split()
    return path, dict(zip(words, np.linspace(-0.7, 0.7, len(words)).tolist(), strict=True))


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the example prints when it is given nothing."""
    return checked("spam_filter", tmp_path_factory.mktemp("pictures"))


def one_by_one(model: SpamFilter, mails: list[Mail]) -> list[float]:
    """The probability of spam of each mail, learned afterwards."""
    chances = []
    for mail in mails:
        chances.append(model.predict_proba_one(mail.raw)["spam"])
        model.learn_one(mail.raw, mail.label)
    return chances


def test_spam_filter(printed: list[str], made_up: tuple[Path, dict[str, float]]) -> None:
    lines = printed
    (path, tilt) = made_up
    *mails, last = open_corpus(path)
    assert (len(mails), last.label is None) == (2999, False)
    model = SpamFilter()
    spam = [mail.label == "spam" for mail in mails]
    chances = one_by_one(model, mails)
    errors = [100 * np.mean(np.array(chances)[kind] > 0.5) for kind in (np.flatnonzero(~np.array(spam)), spam)]
    assert rows(lines, "one minus roca") == [[pytest.approx(100 * (1 - roc_auc_score(spam, chances)), abs=1e-4)]]
    assert rows(lines, "ham error percent") == [[pytest.approx(errors[0], abs=1e-4)]]
    assert rows(lines, "spam error percent") == [[pytest.approx(100 - errors[1], abs=1e-4)]]
    assert rows(lines, "log loss") == [[pytest.approx(log_loss(spam, chances), abs=1e-4)]]
    assert rows(lines, "brier") == [[pytest.approx(brier_score_loss(spam, chances), abs=1e-4)]]
    # The normalisers of both kinds are equal, so a word adds twice its tilt to the log-odds of 0.4 to 0.6.
    odds = [math.log(2 / 3) + 2 * sum(tilt[word] for word in mail.raw.decode().split()[1:]) for mail in mails]
    best = float(np.mean(np.logaddexp(0, np.where(spam, -1, 1) * np.array(odds))))
    assert best < log_loss(spam, chances) < best + 0.06
    ((calibration,),) = rows(lines, "calibration error")
    assert calibration < 0.03
    # The reasons for the last mail add up to its log-odds.
    chance = model.predict_proba_one(last.raw)["spam"]
    (told,) = rows(lines, "The last mail")
    assert told == [pytest.approx(math.log(chance / (1 - chance)), abs=6e-3), pytest.approx(chance, rel=1e-3)]
    shares = [float(found[1]) for line in lines if (found := re.match(r" +([+-]\d+\.\d\d)  ", line))]
    assert math.fsum(shares) == pytest.approx(told[0], abs=5e-3 * len(shares))


@pytest.mark.long
def test_the_spam_filter_takes_an_mbox(
    tmp_path: Path, printed: list[str], made_up: tuple[Path, dict[str, float]]
) -> None:
    mbox = tmp_path / "mails.mbox"
    # A mail whose label is not known is left out.
    unknown = "From - Jan  1 10:00:00 2024\nX-Label: unlabelled\n\nwho knows\n\n"
    mbox.write_text(unknown + made_up[0].read_text())
    assert run("spam_filter", tmp_path, str(mbox)).splitlines()[:-1] == printed
    assert_not_blank(tmp_path / "pictures" / "spam_filter.png")
