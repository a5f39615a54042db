"""Do the intervals of `SpamFilter` hold with few labels, and in the first mails of a new kind?

Mails are put into bins by the predicted probability of spam. An interval covers in a bin if the share of spam among
its mails lies between the means of the lower and of the upper ends of their 95 % intervals.

`python -m benchmarks coverage` takes two minutes. It needs the corpora named by `STREAM_BAYES_CORPORA`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import expit

from benchmarks.few_labels import CachedFilter, FeatureCache
from benchmarks.streams import JUDGING, Pools, Recipe, recipes
from stream_bayes.evaluation.corpora.listing import CORPORA_VARIABLE
from stream_bayes.evaluation.feedback import DEFAULT_STRATEGY, FeedbackRegime
from stream_bayes.evaluation.filters import FilterScores
from stream_bayes.evaluation.process_pool import available_cores
from stream_bayes.evaluation.protocol import run as run_pass
from stream_bayes.evaluation.stream import Stream
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.typing import BoolArray, FloatArray

SEEDS = (1, 2)
BUDGETS = (100, 350)
EDGES = (0.0, 0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999, 1.0)
FIRST_MAILS = 1000
"""Of a late source, by their distance from its first mail."""
HALF_WIDTH = 1.959964
_VARIANCE = "variance"


class VarianceFilter(CachedFilter):
    """States the variance of the latent log-odds where a filter states its members."""

    def _scores(self, predictions: Any) -> FilterScores:
        return FilterScores(predictions.spam_log_odds, {_VARIANCE: predictions.latent_variance}, predictions)


class Predictions(NamedTuple):
    """Predictions of mails, with what became of them."""

    probability: FloatArray
    low: FloatArray
    high: FloatArray
    spam: FloatArray
    """1 if it is spam, else 0."""
    is_new: FloatArray
    """1 if it is among the first mails of a source that began late, else 0."""


def predictions(recipe: Recipe, folder: Path, seed: int, budget: int) -> Predictions:
    """One pass over a stream with chosen labels."""
    stream = recipe.stream(Pools(folder), seed)
    cache = FeatureCache()
    cache.add(SpamFilter(), (mail.raw for mail in stream.mails))
    delay = str(stream.delay) if stream.delay else None
    regime = FeedbackRegime(f"active:{budget}", DEFAULT_STRATEGY, delay, seed)
    done = run_pass(
        lambda: VarianceFilter(SpamFilter(), cache), Stream(stream.name, stream.with_answers()), feedback=regime
    )
    variance = done.members[_VARIANCE]
    # The latent mean is what is moderated to the log-odds that are answered.
    mean = done.log_odds * np.sqrt(1.0 + np.pi * variance / 8.0)
    reach = HALF_WIDTH * np.sqrt(variance)
    began: dict[str, int] = {}
    ages = np.array([place - began.setdefault(mail.source, place) for place, mail in enumerate(stream.mails)])
    return Predictions(
        probability=expit(done.log_odds),
        low=expit(mean - reach),
        high=expit(mean + reach),
        spam=np.array([float(mail.label == "spam") for mail in stream.mails]),
        is_new=(stream.late & (ages < FIRST_MAILS)).astype(np.float64),
    )


def together(parts: Iterable[Predictions]) -> Predictions:
    """The predictions of several passes."""
    return Predictions(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def only(chosen: BoolArray, made: Predictions) -> Predictions:
    """Some of the predictions."""
    return Predictions(*(column[chosen] for column in made))


def coverage_table(title: str, made: Predictions) -> Table:
    """A row for each bin of probabilities."""
    table = Table(title=f"{title}: {len(made.spam):,} mails")
    for column in ("P(spam)", "mails", "mean", "share of spam", "mean interval", ""):
        table.add_column(column, justify="right")
    for low, high in pairwise(EDGES):
        inside = only((made.probability >= low) & (made.probability < high), made)
        if not len(inside.spam):
            continue
        share = float(inside.spam.mean())
        begin = float(inside.low.mean())
        end = float(inside.high.mean())
        table.add_row(
            f"{low:g} to {high:g}",
            f"{len(inside.spam):,}",
            f"{inside.probability.mean():.4f}",
            f"{share:.4f}",
            f"{begin:.4f} to {end:.4f}",
            "" if begin <= share <= end else "outside",
        )
    return table


def run(console: Console) -> None:
    """Print a table for all mails, and one for the first mails from late sources; without corpora, one line."""
    folder = os.environ.get(CORPORA_VARIABLE)
    if not folder:
        console.print(f"Coverage is not measured: {CORPORA_VARIABLE} names no folder with corpora")
        return
    chosen = recipes(JUDGING)
    with ProcessPoolExecutor(available_cores()) as pool:
        jobs = [
            pool.submit(predictions, recipe, Path(folder), seed, budget)
            for recipe in chosen
            for seed in SEEDS
            for budget in BUDGETS
        ]
        made = together(job.result() for job in jobs)
    console.print(coverage_table("judging streams, 100 and 350 labels", made))
    console.print(coverage_table(f"the first {FIRST_MAILS:,} mails from late sources", only(made.is_new > 0.0, made)))
