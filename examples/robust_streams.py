"""How often robust regression goes wrong: 200 streams in which an outlier may come before the line is known.

Look at the first row of the table: with a prior much wider than the noise, an outlier among the first points is taken
for the truth, the points that follow count as outliers, and the learner is sure of a wrong line. Under Student's t it
seldom comes back. A prior as wide as the weights may be, or a larger scale of the noise, nearly always helps;
least squares is worse, though it is not sure of its line. Choosing the scale by evidence helps too, though the scale
it finds is then larger than the scatter of the good points.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from stream_bayes import Batch, BayesianLinearRegression, RobustRegression

LINE = (1.0, 2.0)
NOISE = 0.1
OUTLIERS = 20.0
STREAMS = 200
SHOWN = 40
SHARES = (0.05, 1 / 6)
SCALES = (NOISE, 0.3, 1.0, 3.0)
WIDE = 0.01
SENSIBLE = 1.0
"""Prior precision of each weight: a deviation of 10, or of 1."""
ROWS = ("true scale, wide prior", "true scale, prior of deviation 1", "scale 1, wide prior", "scale by evidence")
Numbers = NDArray[np.float64]


def stream(seed: int, share: float) -> tuple[Batch, Numbers]:
    """Return 100 places and targets near the line; this share of the targets is wrong, to both sides."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, 100)
    wrong = generator.random(100) < share
    y = LINE[0] + LINE[1] * x + generator.normal(0, NOISE, 100)
    y[wrong] += generator.normal(0, OUTLIERS, wrong.sum())
    return Batch.from_matrix(x[:, None], ["x"]), y


def is_wrong(model: BayesianLinearRegression | RobustRegression) -> bool:
    """Whether a weight is more than 0.5 from the truth."""
    weights = model.weights()
    return abs(weights["intercept"].mean - LINE[0]) > 0.5 or abs(weights["x"].mean - LINE[1]) > 0.5


def least_squares(seed: int, share: float) -> BayesianLinearRegression:
    """Return least squares after a stream."""
    model = BayesianLinearRegression(WIDE, noise="unknown")
    (x, y) = stream(seed, share)
    model.learn_many(x, y)
    return model


def wrong_lines(noise: str, share: float) -> tuple[NDArray[np.int64], float]:
    """Count the wrong lines for each of ROWS; return the counts, and the median scale that the evidence chose."""
    counts = np.zeros(len(ROWS), np.int64)
    chosen = []
    for seed in range(STREAMS):
        (x, y) = stream(seed, share)
        narrow = RobustRegression(noise, NOISE, prior_precision=SENSIBLE)
        wide = {scale: RobustRegression(noise, scale, prior_precision=WIDE) for scale in SCALES}
        for model in (narrow, *wide.values()):
            model.learn_many(x, y)
        best = max(wide.values(), key=RobustRegression.log_evidence)
        counts += [is_wrong(model) for model in (wide[NOISE], narrow, wide[1.0], best)]
        chosen.append(best.noise_scale)
    return counts, float(np.median(chosen))


def slopes(seed: int, scale: float) -> Numbers:
    """Return the slope after each point of a stream, under Student's t and a wide prior."""
    model = RobustRegression("student-t", scale, prior_precision=WIDE)
    (batch, targets) = stream(seed, SHARES[1])
    found = []
    for place, target in zip(batch.values.tolist(), targets.tolist(), strict=True):
        model.learn_one({"x": place}, target)
        found.append(model.weights()["x"].mean)
    return np.array(found)


def main() -> None:
    """Print how many lines of each setting are wrong, and draw slopes that stay wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "robust_streams.png"
    print(f"wrong lines in {STREAMS} streams of 100 points, of which  5 % are wrong   17 % are wrong")
    squares = [sum(is_wrong(least_squares(seed, share)) for seed in range(STREAMS)) for share in SHARES]
    print(f"{'least squares':<53}{squares[0]:>13}{squares[1]:>17}")
    for noise in ("student-t", "laplace"):
        (few, few_scale), (many, many_scale) = (wrong_lines(noise, share) for share in SHARES)
        for name, one, other in zip(ROWS, few, many, strict=True):
            print(f"{noise + ', ' + name:<53}{one:>13}{other:>17}")
        print(f"{noise + ', median scale by evidence':<53}{few_scale:>13g}{many_scale:>17g}")
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
    for axes, scale in zip(panels, (NOISE, 10 * NOISE), strict=True):
        paths = [slopes(seed, scale) for seed in range(SHOWN)]
        wrong = [abs(path[-1] - LINE[1]) > 0.5 for path in paths]
        for path, off in zip(paths, wrong, strict=True):
            axes.plot(range(1, 101), path, color="C1" if off else "0.5", linewidth=1, zorder=2 + off)
        axes.axhline(LINE[1], color="C0", alpha=0.3, linewidth=6, zorder=0, label="truth")
        axes.plot([], [], color="C1", linewidth=1, label="wrong at the end")
        axes.set(
            xlabel="points learned", title=f"noise_scale={scale:g}: wrong at the end in {sum(wrong)} of {SHOWN} streams"
        )
    panels[1].legend(loc="lower right")
    panels[0].set_ylabel("slope")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
