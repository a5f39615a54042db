"""Which measurement to make next: the one whose outcome is least certain, against any one.

The larger the predictive variance, the more entropy falls, whatever the answer: a pool is ranked beforehand. A --stream
has a budget, and "random" asks at the same rate. The fewer events lie far out, the less is saved.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from stream_bayes import Batch, BayesianLinearRegression
from stream_bayes.active import LabelBudget, LabelSelector

REPEATS = 30
POOL = 400
STREAM = 4000
BUDGET = 70
FEATURES = 7
LABELS = range(1, 61)
PRECISION = 0.25
NOISE = 1.0
WAYS = ("random", "largest variance")


def ask(model: BayesianLinearRegression, events: list[list[float]], draw: np.random.Generator) -> Iterator[list[int]]:
    """Give rows to ask about as they come: any one that was not asked before, and the one that the selector wants."""
    selector = LabelSelector("variance", LabelBudget(BUDGET, audit_fraction=0))
    free = list[int]()
    for row, event in enumerate(events):
        free.append(row)
        if selector.ask(row, model.predictive_one(dict(enumerate(event)))):
            yield [free.pop(draw.integers(len(free))), row]
            selector.answered(row, "measured")


def measure(seed: int, stream: bool) -> Iterator[list[tuple[float, float]]]:
    """Give error and entropy of both ways after each label; the last events are the test."""
    draw = np.random.default_rng(seed)
    size = ((STREAM if stream else POOL) + POOL, FEATURES)
    features = (draw.standard_t(2, size) if stream else draw.normal(size=size)) @ draw.normal(size=(FEATURES, FEATURES))
    line = np.column_stack((np.ones(len(features)), features)) @ draw.normal(0, PRECISION**-0.5, FEATURES + 1)
    answers = draw.normal(line, NOISE**0.5)
    models = [BayesianLinearRegression(PRECISION, NOISE) for _ in WAYS]
    pool, test = (Batch.from_matrix(part, range(FEATURES)) for part in (features[:-POOL], features[-POOL:]))
    ranked = zip(draw.permutation(POOL), models[1].rank_by_information(pool, len(LABELS)), strict=False)
    for _, pair in zip(LABELS, ask(models[1], features[:-POOL].tolist(), draw) if stream else ranked, strict=False):
        for model, row in zip(models, pair, strict=True):
            model.learn_one(dict(enumerate(features[row].tolist())), answers[row])
        away = [model.predictive_many(test).mean - line[-POOL:] for model in models]
        yield [(float(np.sqrt(np.mean(gap**2))), model.entropy()) for model, gap in zip(models, away, strict=True)]


def main() -> None:
    """Measure, print the table and draw both curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    parser.add_argument("--stream", action="store_true", help="ask as events come, within a budget")
    out, stream = vars(parser.parse_args()).values()
    curves = np.array([list(measure(seed, stream)) for seed in range(REPEATS)])
    middle = np.median(curves, axis=0)
    lower = (curves[:, :, 1, 1] <= curves[:, :, 0, 1]).all(axis=1).sum()
    print(f"Medians of {REPEATS} repetitions: error, entropy\nlabels" + "".join(f"{way:>20}" for way in WAYS))
    for count in (5, 10, 20, 40, 60):
        print(f"{count:>6}" + "".join(f"{error:>11.4f}{entropy:>9.4f}" for error, entropy in middle[count - 1]))
    reached = (middle[:, 0] <= middle[19, 1]).T
    error, entropy = (f"{1 + column.argmax()}" if column.any() else f"more than {len(column)}" for column in reached)
    print(f"20 labels of largest variance are worth {error} at random by error, {entropy} by entropy")
    print(f"after no label is their entropy above that of random ones, in {lower} of {REPEATS}\n")
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2))
    for way, (axes, measured) in product(range(2), ((left, 0), (right, 1))):
        axes.plot(LABELS, middle[:, way, measured], label=WAYS[way])
        axes.fill_between(LABELS, *np.quantile(curves[:, :, way, measured], (0.25, 0.75), axis=0), alpha=0.15, lw=0)
    left.set(title="error against the true line (root mean square)", xlabel="labels", yscale="log")
    left.set_yticks((0.2, 0.5, 1, 2, 5, 10), ("0.2", "0.5", "1", "2", "5", "10"))
    right.set(title="entropy of the belief (nats)", xlabel="labels")
    right.legend(title=f"median and quartiles of {REPEATS} repetitions", alignment="left")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture := out / f"active_regression{'_stream' if stream else ''}.png")
    print(f"Picture: {picture}")


if __name__ == "__main__":
    main()
