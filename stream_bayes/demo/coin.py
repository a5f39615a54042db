"""A coin of unknown bias: every toss is predicted, then learned by a Beta-Bernoulli."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from stream_bayes.learners.beta_bernoulli import BetaBernoulli
from stream_bayes.posteriors import Beta

TOSSES = 200
DENSITY_POINTS = 70

HEADS, TAILS = "heads", "tails"


class CoinFrame(NamedTuple):
    """What is known after so many tosses."""

    step: int
    total: int
    """Tosses there will be."""
    true_bias: float
    """The probability of heads; the learner is not told."""
    outcome: str | None
    """The last toss; None before the first."""
    said: float | None
    """The probability of heads the learner gave before it saw that toss."""
    posterior: tuple[float, float]
    """Counts of heads and of tails, those of the prior included."""
    mean: float
    interval: tuple[float, float]
    """Of 95 %, equal-tailed."""
    density: tuple[float, ...]
    """Of the bias, in the middle of equal cells from 0 to 1."""
    noise: float
    """Variance of the next toss that would stay if the bias were known."""
    ignorance: float
    """Variance of the next toss that more tosses would remove."""
    log_loss: float
    """Mean of -ln P(what came), each P said before it came."""
    best_log_loss: float
    """The same for somebody who knows the bias."""

    @property
    def heads(self) -> int:
        """Heads seen."""
        return round(self.posterior[0] - PRIOR.successes)


PRIOR = Beta(1.0, 1.0)


def coin_frames(generator: np.random.Generator, tosses: int = TOSSES) -> Iterator[CoinFrame]:
    """The prior first, then a frame a toss; the bias is drawn from the prior, so that 95 % means 95 %."""
    bias = float(PRIOR.sample(generator)[0])
    learner = BetaBernoulli(prior=PRIOR, classes=(TAILS, HEADS))
    loss = best_loss = 0.0
    yield _frame(learner, 0, tosses, bias, None, None, (0.0, 0.0))
    for step, draw in enumerate(generator.random(tosses).tolist(), start=1):
        outcome = HEADS if draw < bias else TAILS
        said = learner.predict_proba_one({})
        learner.learn_one({}, outcome)
        loss -= math.log(said[outcome])
        best_loss -= math.log(bias if outcome == HEADS else 1.0 - bias)
        yield _frame(learner, step, tosses, bias, outcome, said[HEADS], (loss / step, best_loss / step))


def _frame(  # noqa: PLR0913, PLR0917 - the parts of one frame
    learner: BetaBernoulli,
    step: int,
    tosses: int,
    bias: float,
    outcome: str | None,
    said: float | None,
    losses: tuple[float, float],
) -> CoinFrame:
    belief, coming = learner.posterior(), learner.predictive_one({})
    places = (np.arange(DENSITY_POINTS) + 0.5) / DENSITY_POINTS
    return CoinFrame(
        step,
        tosses,
        bias,
        outcome,
        said,
        (belief.successes, belief.failures),
        belief.mean,
        belief.interval(0.95),
        tuple(belief.density(places).tolist()),
        coming.aleatoric_variance,
        coming.epistemic_variance,
        *losses,
    )
