"""Every example runs, draws its picture, and prints figures that scipy, scikit-learn or a pencil agree with."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import stream_bayes
from tests.support.examples import ROOT, assert_not_blank, checked, numbers, rows, run

TESTS = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))


LISTED = (ROOT / "docs" / "tutorials" / "learners.md").read_text(encoding="utf-8")
EXAMPLES = [path for path in sorted((ROOT / "examples").iterdir()) if path.suffix in (".py", ".ipynb")]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_listed_in_the_documentation(path: Path) -> None:
    assert f"| `{path.name}` |" in LISTED


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_short_and_has_a_test(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 120
    assert f"def test_{path.stem}(" in TESTS


@pytest.mark.long
def test_pictures_go_to_the_current_folder_by_default(tmp_path: Path) -> None:
    assert run("coin", tmp_path).endswith(f"Picture: {Path('pictures') / 'coin.png'}\n")
    assert_not_blank(tmp_path / "pictures" / "coin.png")


def test_coin(tmp_path: Path) -> None:
    lines = checked("coin", tmp_path)
    worked = (
        (2, 0, 4, 2, 1, Fraction(3, 4), Fraction(4, 6)),
        (55, 45, 57, 47, 0.55, Fraction(56, 102), Fraction(57, 104)),
        (75, 60, 77, 62, Fraction(75, 135), Fraction(76, 137), Fraction(77, 139)),
    )
    estimates = rows(lines, r" +\d")
    assert estimates == [pytest.approx([float(number) for number in row], abs=5e-5) for row in worked]
    for shown, (_, _, a, b, _, mode, mean) in zip(rows(lines, r"Beta"), worked, strict=True):
        belief = stats.beta(a, b)
        assert shown[:5] == pytest.approx([a, b, float(mean), belief.median(), float(mode)], abs=5e-5)
        assert shown[5:7] == pytest.approx(belief.interval(0.9), abs=5e-5)
        left, right = shown[7:]
        assert belief.cdf(right) - belief.cdf(left) == pytest.approx(0.9, abs=1e-3)
        assert belief.pdf(left) == pytest.approx(belief.pdf(right), abs=0.01)
        assert right - left <= shown[6] - shown[5] + 1e-4


@pytest.mark.long
def test_orienteering(tmp_path: Path) -> None:
    lines = checked("orienteering", tmp_path)
    table = [line.split(",") for line in (ROOT / "examples/orienteering.csv").read_text().splitlines()[1:]]
    runs = Counter(day[-1] for day in table)
    assert runs == {"yes": 9, "no": 5}
    outlooks = {line[2 : line.index(" |")]: numbers(line) for line in lines if "| run)" in line}
    assert {name: shown[:2] for name, shown in outlooks.items()} == {
        "sunny": pytest.approx([3 / 5, 2 / 9], abs=5e-5),
        "overcast": pytest.approx([0, 4 / 9], abs=5e-5),
        "rainy": pytest.approx([2 / 5, 3 / 9], abs=5e-5),
    }
    # One added to each of three values.
    assert {name: shown[2:] for name, shown in outlooks.items()} == {
        "sunny": pytest.approx([4 / 8, 3 / 12], abs=5e-5),
        "overcast": pytest.approx([1 / 8, 5 / 12], abs=5e-5),
        "rainy": pytest.approx([3 / 8, 4 / 12], abs=5e-5),
    }
    anyday, rainy, question = rows(lines, r"P\(run")
    assert anyday == pytest.approx([5 / 14, 9 / 14, 6 / 16, 10 / 16], abs=5e-5)
    smooth_rainy = 10 / 16 * 4 / 12, 6 / 16 * 3 / 8
    assert rainy[1] == pytest.approx(3 / 5)
    assert rainy[3] == pytest.approx(smooth_rainy[0] / sum(smooth_rainy), abs=5e-5)
    assert [numbers(line)[-1] for line in lines if line.startswith("score")] == [0.0206, 0.0053]
    exact, smooth = (posterior(table, ("sunny", "cool", "high", "true"), added) for added in (0, 1))
    assert question == pytest.approx([1 - exact, exact, 1 - smooth, smooth], abs=5e-5)


def posterior(table: list[list[str]], day: tuple[str, ...], added: int) -> float:
    """Return P(yes | day) of naive Bayes by counting."""
    scores = {}
    for label in ("yes", "no"):
        own = [row for row in table if row[-1] == label]
        parts = [Fraction(len(own) + added, len(table) + 2 * added)]
        for place, value in enumerate(day):
            values = len({row[place] for row in table})
            parts.append(Fraction(sum(row[place] == value for row in own) + added, len(own) + values * added))
        scores[label] = math.prod(parts)
    return float(scores["yes"] / sum(scores.values()))


@pytest.mark.long
def test_temperature(tmp_path: Path) -> None:
    shown = rows(checked("temperature", tmp_path), r" +\d")
    days = (-8.2, -3.1, -11.4, -0.9, -6.0, -9.3, -4.7)
    assert [row[0] for row in shown] == list(range(len(days) + 1))
    for count, mean, narrow, wide, low, high in shown:
        precision = 1 / 16 + count / 25
        expected = sum(days[: int(count)]) / 25 / precision
        assert mean == pytest.approx(expected, abs=5e-4)
        assert (narrow, wide) == pytest.approx((precision**-0.5, (1 / precision + 25) ** 0.5), abs=5e-4)
        assert (low, high) == pytest.approx(stats.norm(expected, (1 / precision + 25) ** 0.5).interval(0.95), abs=6e-3)
        assert narrow < 5 < wide


@pytest.mark.long
def test_bayes_boundaries(tmp_path: Path) -> None:
    lines = checked("bayes_boundaries", tmp_path)
    (shared,) = rows(lines, "shared")
    (full,) = rows(lines, "full")
    # The log densities of N(0, 1) and N(1, 1/4) are equal where 3/2 x^2 - 4 x + 2 - ln 2 = 0.
    ends = [(4 + sign * math.sqrt(16 - 6 * (2 - math.log(2)))) / 3 for sign in (-1, 1)]
    assert ends == pytest.approx([0.38, 2.29], abs=5e-3)
    assert shared[:2] == [pytest.approx(0.5, abs=6e-3), pytest.approx(0.5, abs=0.1)]
    assert full[:2] == pytest.approx(ends, abs=1e-2)
    assert full[2:4] == pytest.approx(ends, abs=0.1)
    # The errors are near those scikit-learn has after a hundred times as many events.
    generator = np.random.default_rng(0)
    classes = ((0, 0), ((1.5, 0.7), (0.7, 1.3))), ((1.5, 1), ((0.25, -0.1), (-0.1, 0.2)))
    points = np.concatenate([generator.multivariate_normal(mean, covariance, 60_000) for mean, covariance in classes])
    labels = np.repeat((0, 1), 60_000)
    for shown, model in ((shared, LinearDiscriminantAnalysis()), (full, QuadraticDiscriminantAnalysis())):
        model.fit(points[::2], labels[::2])
        wrong = np.mean(model.predict(points[1::2]) != labels[1::2])
        assert shown[-1] == pytest.approx(wrong, abs=0.02)
    assert full[-1] < shared[-1] - 0.02


@pytest.mark.long
def test_generative_vs_discriminative(tmp_path: Path) -> None:
    lines = checked("generative_vs_discriminative", tmp_path)
    curves = next(place for place, line in enumerate(lines) if line.startswith("Error on held-out"))
    check_gradient_steps(rows(lines[:curves], r" +\d"))
    shown = {int(row[0]): row[1:] for row in rows(lines[curves:], r" +\d")}
    bayes, logistic, informed = ({count: row[place] for count, row in shown.items()} for place in (0, 2, 4))
    # Few events: naive Bayes leads by more than the standard errors; many: logistic regression does.
    assert bayes[4] + shown[4][1] < logistic[4]
    assert logistic[400] + shown[400][3] < bayes[400] - shown[400][1]
    # Naive Bayes is near its floor after 48 events, logistic regression is not.
    assert bayes[48] - bayes[400] < 1
    assert logistic[48] - logistic[400] > 2
    assert all(informed[count] < bayes[count] for count in shown)
    # scikit-learn ends at the same errors: naive Bayes by the same sums, logistic regression at the optimum.
    features, target = load_breast_cancer(return_X_y=True)
    models = GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())
    errors = []
    for seed in range(30):
        order = np.random.default_rng(seed).permutation(len(target))
        learned = order[:400]
        held_out = order[400:]
        fitted = [model.fit(features[learned], target[learned]) for model in models]
        errors.append([100 * np.mean(model.predict(features[held_out]) != target[held_out]) for model in fitted])
    assert [bayes[400], logistic[400]] == pytest.approx(np.mean(errors, axis=0), abs=0.6)


def check_gradient_steps(shown: list[list[float]]) -> None:
    """The steps by hand: error = y - p, and weight and intercept grow by the error times the feature and by the error.

    The mean of naive Bayes is that of its class and of the prior.
    """
    features, target = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(3).permutation(len(target))[:8]
    scaled = (features[:, 0] - features[:, 0].mean()) / features[:, 0].std()
    prior = stream_bayes.GaussianNB().prior
    assert prior is not None
    weight = 0.0
    intercept = 0.0
    seen: dict[int, list[float]] = {0: [], 1: []}
    assert len(shown) == 8
    for step, (row, place) in enumerate(zip(shown, order, strict=True), 1):
        x = scaled[place]
        y = target[place]
        p = 1 / (1 + math.exp(-weight * x - intercept))
        change = (y - p) * x
        weight += change
        intercept += y - p
        seen[y].append(x)
        means = [(prior.strength * prior.mean + sum(xs)) / (prior.strength + len(xs)) for xs in seen.values()]
        assert row == pytest.approx([step, x, y, p, y - p, change, weight, *means], abs=6e-4)


def test_live_coin(tmp_path: Path) -> None:
    lines = run("live_coin", tmp_path).splitlines()
    (tosses, heads), (a, b, mean, mass, low, high) = (numbers(line) for line in lines[-2:])
    coin = random.Random(1)
    assert (tosses, heads) == (200, sum(coin.random() < 0.6 for _ in range(200)))
    belief = stats.beta(heads + 1, 201 - heads)
    assert (a, b, mass) == (heads + 1, 201 - heads, 90)
    assert [mean, low, high] == pytest.approx([belief.mean(), *belief.interval(0.9)], abs=5e-5)
    # A column of the picture is as high as the density in its middle, in eighths of a line.
    picture = [line.ljust(60) for line in lines[:8]]
    heights = [sum(" ▁▂▃▄▅▆▇█".index(line[column]) for line in picture) for column in range(60)]
    density = belief.pdf((np.arange(60) + 0.5) / 60)
    assert heights == pytest.approx(64 * density / density.max(), abs=0.5)
    ends = [lines[8].index("━"), lines[8].rindex("━")]
    assert ends == [int(60 * low), int(60 * high)]


@pytest.mark.long
def test_live_coin_is_drawn_after_each_toss_in_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # By this variable rich takes the output for a terminal.
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    printed = run("live_coin", tmp_path, "--tosses", "3", "--pause", "0")
    means = [float(mean) for mean in re.findall(r"mean (\d\.\d+)", printed)]
    drawn = list(dict.fromkeys(means))
    coin = random.Random(1)
    heads = np.cumsum([coin.random() < 0.6 for _ in range(3)])
    expected = [(count + 1) / (tosses + 2) for tosses, count in enumerate([0, *heads.tolist()])]
    assert drawn == pytest.approx(list(dict.fromkeys(round(mean, 4) for mean in expected)))
    assert "\x1b[1A" in printed
