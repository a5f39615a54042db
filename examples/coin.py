"""One coin, three estimates: maximum likelihood (ML), the peak of the posterior (MAP), and the predictive probability.

Look at the first row of the table: after two heads, maximum likelihood is certain that tails never come. The prior,
worth two heads and two tails, forbids that; a hundred tosses later it hardly matters any more. In the picture, the best
guesses differ where the posterior is skewed, and meet where it is narrow.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from stream_bayes import Beta
from stream_bayes.posteriors.base import Loss

PRIOR: Final = Beta(2, 2)
TOSSES: Final = ((2, 0), (55, 45), (75, 60))
GUESSES: Final[dict[Loss, str]] = {"squared": "mean", "absolute": "median", "zero-one": "mode"}


def print_tables() -> None:
    """Print what each number of tosses leads to."""
    posteriors = [PRIOR.update_counts(heads, tails) for heads, tails in TOSSES]
    print(f"{'heads':>5}{'tails':>6}  {'posterior':<13}{'ML':>7}{'MAP':>8}{'predictive':>12}")
    for (heads, tails), posterior in zip(TOSSES, posteriors, strict=True):
        likeliest = heads / (heads + tails)
        predictive = posterior.predictive().probabilities[True]
        print(f"{heads:>5}{tails:>6}  {posterior!r:<13}{likeliest:>7.4f}{posterior.mode:>8.4f}{predictive:>12.4f}")
    print(f"\n{'posterior':<13}{'mean':>7}{'median':>8}{'mode':>8}   {'equal-tailed 90 %':<19}highest-density 90 %")
    for posterior in posteriors:
        mean, median, mode = map(posterior.bayes_action, GUESSES)
        (low, high) = posterior.interval(0.9)
        (left, right) = posterior.hdi(0.9)
        ends = f"[{low:.4f}, {high:.4f}]   [{left:.4f}, {right:.4f}]"
        print(f"{posterior!r:<13}{mean:>7.4f}{median:>8.4f}{mode:>8.4f}   {ends}")


def draw(axes: Axes, heads: int, tails: int) -> None:
    """Draw prior and posterior, the best guess under each loss, and the intervals beneath."""
    posterior = PRIOR.update_counts(heads, tails)
    grid = np.linspace(0, 1, 1001)
    peak = posterior.density(posterior.mode)
    axes.plot(grid, PRIOR.density(grid), color="0.6", linestyle="--", label=f"prior {PRIOR}")
    axes.plot(grid, posterior.density(grid), color="C0", label=f"posterior {posterior}")
    for (loss, name), marker in zip(GUESSES.items(), "os^", strict=True):
        guess = posterior.bayes_action(loss)
        axes.plot(guess, posterior.density(guess), marker, color="0.2", label=f"{name} {guess:.3f}: least {loss} loss")
    likeliest = heads / (heads + tails)
    axes.plot([likeliest] * 2, [0, 1.2 * peak], ":", color="C1", label=f"maximum likelihood {likeliest:.3f}")
    intervals = {"equal-tailed": posterior.interval(0.9), "highest-density": posterior.hdi(0.9)}
    for (name, ends), depth in zip(intervals.items(), (0.1, 0.22), strict=True):
        axes.plot(ends, [-depth * peak] * 2, color="C2", linewidth=5, solid_capstyle="butt")
        axes.text(ends[0] - 0.01, -depth * peak, f"90 % {name}", ha="right", va="center", fontsize=9)
    axes.set(title=f"{heads} heads, {tails} tails", ylabel="density", ylim=(-0.3 * peak, 1.3 * peak))
    axes.set_yticks(np.arange(0, 1.3 * peak, 0.5 if peak < 5 else 2))
    axes.legend(loc="upper left")


def main() -> None:
    """Print the tables and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    picture = parser.parse_args().out / "coin.png"
    print_tables()
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, (small, large) = plt.subplots(2, figsize=(8, 6.5), sharex=True)
    draw(small, *TOSSES[0])
    draw(large, *TOSSES[-1])
    large.set_xlabel("probability of heads")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"\nPicture: {picture}")


if __name__ == "__main__":
    main()
