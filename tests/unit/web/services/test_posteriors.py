"""Posteriors as curves: of a word, a sender, a weight; each against counts made by hand and against scipy."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from stream_bayes import BayesianLinearRegression, MultinomialNB, PoissonNB
from stream_bayes.engine.model_adapter import ModelAdapter
from stream_bayes.errors import NoPosterior
from stream_bayes.learners.base.named_posterior import NamedPosterior
from stream_bayes.posteriors import Beta, Gamma, Normal, StudentT
from stream_bayes.web.schemas import DensityBody
from stream_bayes.web.services.model_cache import ModelCache
from stream_bayes.web.services.posteriors import density, density_of
from tests.support.learners import LEARNERS
from tests.support.web_checkpoints import MailWorker, mails, trained_clone


def assert_is_a_curve(found: DensityBody) -> None:
    x = np.array(found.x)
    y = np.array(found.y)
    assert 150 <= len(x) == len(y) <= 210
    assert (np.diff(x) > 0.0).all()
    assert np.isfinite(y).all()
    assert (y >= 0.0).all()
    low, high = found.interval
    assert low < high


CURVES: dict[str, tuple[Any, Any]] = {
    "flat": (Beta(1.0, 1.0), stats.beta(1.0, 1.0)),
    "wide": (Beta(2.5, 4.0), stats.beta(2.5, 4.0)),
    "narrow": (Beta(40_000.0, 90_000.0), stats.beta(40_000.0, 90_000.0)),
    "at the end": (Beta(1.0, 30.0), stats.beta(1.0, 30.0)),
    "normal": (Normal(-3.0, 0.04), stats.norm(-3.0, 0.2)),
    "student": (StudentT(5.0, 2.0, 3.0), stats.t(5.0, 2.0, 3.0)),
    "rate": (Gamma(9.0, 3.0), stats.gamma(9.0, scale=1.0 / 3.0)),
}


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_is_the_density(name: str) -> None:
    posterior, truth = CURVES[name]
    found = density("kind", "text", NamedPosterior(posterior, "what it is"))
    assert_is_a_curve(found)
    np.testing.assert_allclose(found.y, truth.pdf(found.x), rtol=1e-6, atol=1e-12)
    assert np.trapezoid(found.y, found.x) == pytest.approx(1.0, abs=0.01), "it covers nearly all"
    assert found.mean == pytest.approx(truth.mean())
    assert found.interval == pytest.approx(truth.interval(0.95), rel=1e-6)
    assert found.note is None


@pytest.mark.parametrize(
    "posterior", [Beta(0.35, 0.35), Beta(12.35, 0.35), Beta(0.35, 5000.0), Gamma(0.2, 3.0), StudentT(0.5, 0.0, 1.0)]
)
def test_a_density_without_bound_is_cut_off(posterior: Any) -> None:
    found = density("kind", "text", NamedPosterior(posterior, "what it is", "first"))
    assert_is_a_curve(found)
    within = [place for place, x in enumerate(found.x) if posterior.quantile(0.3) < x < posterior.quantile(0.7)]
    assert len(within) >= 5, "the middle is drawn"
    np.testing.assert_allclose([found.y[place] for place in within], posterior.density([found.x[p] for p in within]))
    cut = not isinstance(posterior, StudentT)
    assert found.note == ("first; the density is unbounded: the curve is cut off" if cut else "first")
    assert (max(found.y) < posterior.density(found.x).max()) == cut


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> ModelCache:
    room = MailWorker(
        tmp_path_factory.mktemp("mails"), learner={"name": "SpamFilter", "parameters": {"buckets": 2**22}}
    )
    extra = {"id": "x", "label": "ham", "text": "cheap bread", "sender": "offer@shop.example", "subject": "lunch"}
    room.work(*mails(20), extra)
    return ModelCache(room.settings)


@pytest.mark.parametrize(
    ("kind", "text", "meaning", "counts"),
    [
        ("word", "pills", 'the word "pills"', (10, 0)),
        ("word", " Cheap ", 'the word "cheap"', (10, 1)),
        ("word", "buy", 'the word "buy"', (10, 10)),
        ("word", "Cheap  Pills", 'the pair "cheap pills"', (10, 0)),
        ("pair", "cheap bread", 'the pair "cheap bread"', (0, 1)),
        ("subject: word", "cheap", 'the word "cheap" in subject', (10, 0)),
        ("subject: word", "lunch", 'the word "lunch" in subject', (0, 11)),
        ("word", "zebra", 'the word "zebra"', (0, 0)),
        ("sender", "offer@shop.example", 'the sender "offer@shop.example"', (10, 1)),
        ("sender", "Bob <OFFER@shop.example>", 'the sender "offer@shop.example"', (10, 1)),
        ("sender", "@office.example", 'the sender "@office.example"', (0, 10)),
        ("sender", "office.example", 'the sender "@office.example"', (0, 10)),
        ("sender", "nobody@shop.example", 'the sender "nobody@shop.example"', (0, 0)),
        ("host", "shop.example", 'the host "shop.example"', (10, 0)),
        ("host", "https://Shop.example/y?z#1", 'the host "shop.example"', (10, 0)),
        ("host", "other.example", 'the host "other.example"', (0, 0)),
        ("field", "subject", 'the field "subject"', (10, 11)),
    ],
)
def test_posteriors_of_a_mail_filter(
    models: ModelCache, kind: str, text: str, meaning: str, counts: tuple[int, int]
) -> None:
    spam, ham = counts
    found = models.posterior(kind, text)
    assert_is_a_curve(found)
    assert found.meaning == f"probability of spam among mails with {meaning}"
    assert (found.seen, found.seen_towards) == (spam + ham, spam)
    truth = stats.beta(0.35 + spam, 0.35 + ham)
    assert found.mean == pytest.approx(truth.mean())
    assert found.interval == pytest.approx(truth.interval(0.95), abs=1e-9)
    assert found.family == f"Beta({0.35 + spam:g}, {0.35 + ham:g})"
    new = "no labelled mail had it: this is the prior"
    assert (new in (found.note or "")) == (spam + ham == 0)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("word", "three words here", "this filter does not read 'three words here' as one word"),
        ("word", "", "no posterior of word '': ask about a word, a sender, a host"),
        ("word", "\n\t", "ask about a word"),
        ("word", "x" * 201, "ask about a word"),
        ("colour", "red", "no posterior of colour 'red'"),
        ("a\nb: word", "red", "no posterior of a b: word 'red'"),
        ("sender", "<script>", "as one sender"),
        ("sender", "\u202e", "'⟨U+202E⟩' as one sender"),
        ("host", "@", "'@' as one host"),
        ("weight", "zebra", "no posterior of a weight of 'zebra': there are gram counts, word counts,"),
    ],
)
def test_features_of_which_a_mail_filter_has_no_posterior(
    models: ModelCache, kind: str, text: str, message: str
) -> None:
    with pytest.raises(NoPosterior) as caught:
        models.posterior(kind, text)
    assert message in str(caught.value)
    assert caught.value.code == "no-posterior"


def test_the_family_of_a_posterior_is_shown_with_its_parameters() -> None:
    counts = PoissonNB(prior=Gamma(2, 3))
    words = MultinomialNB(prior_count=0.5)
    for learner in (counts, words):
        learner.learn_one({"pills": 3, "now": 1}, "spam")
        learner.learn_one({"lunch": 1}, "ham")
    assert density_of(ModelAdapter(counts), "word", "pills").family == "Gamma(shape 5, rate 4)"
    assert density_of(ModelAdapter(words), "word", "pills").family == "Beta(3.5, 2)"
    unknown = BayesianLinearRegression(4.0, 0.3, noise="unknown", noise_degrees=2.5)
    unknown.learn_one({"x": 1.0}, 2.0)
    assert density_of(ModelAdapter(unknown), "weight", "x").family.startswith("StudentT(degrees 3.5, location ")


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_has_a_density_for_each_of_its_kinds(name: str) -> None:
    learner = trained_clone(LEARNERS[name])
    before = LEARNERS[name].clone()
    for kind in learner.posterior_kinds:
        for one in (learner, before):
            for text in ("a", "b = 1", "c = True", "MultinomialNB", "intercept", "\x00"):
                with suppress(NoPosterior):
                    assert_is_a_curve(density_of(ModelAdapter(one), kind, text))
    with pytest.raises(NoPosterior, match=f"no (belief|posterior).*colour|{type(learner).__name__} has no posterior"):
        density_of(ModelAdapter(learner), "colour", "red")


@pytest.mark.slow
def test_scipy_stats_is_not_needed(tmp_path: Path) -> None:
    code = "import sys, stream_bayes.web.services.model_cache; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=tmp_path).returncode == 0
