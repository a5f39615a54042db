"""Plots by matplotlib: the density of a distribution, the intervals of several numbers, the probabilities of labels.

Each function draws into axes and returns them: into those given, else into the current ones. matplotlib is the extra
`plots`; it is imported when something is drawn.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from stream_bayes.errors import MissingExtra
from stream_bayes.notebook_html import MASS, Distribution, density_curve, interval_text, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_ROWS = 20


class UncertainNumber(Protocol):
    """A number with its uncertainty."""

    @property
    def mean(self) -> float:
        """The expected value."""

    def interval(self, mass: float = ...) -> tuple[float, float]:
        """The equal-tailed credible interval."""


def axes_for(ax: Axes | None) -> Axes:
    """Return the axes given, or else the current ones of matplotlib."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415
    except ModuleNotFoundError as problem:
        message = "a plot needs matplotlib: install it with pip install 'stream_bayes[plots]'"
        raise MissingExtra(message) from problem
    return plt.gca()


def draw_distribution(distribution: Distribution, name: str, ax: Axes | None) -> Axes:
    """Draw a density, or the probabilities of a count: the interval is filled, the mean is marked.

    Nothing but the mean is drawn where the density is too narrow for floating-point numbers.
    """
    ax = axes_for(ax)
    curve = density_curve(distribution)
    has_density = hasattr(distribution, "density")
    label = f"{name}: mean {number(float(distribution.mean))}, 90 % in {interval_text(distribution.interval(MASS))}"
    if curve is None:
        ax.axvline(distribution.mean, linestyle="--", label=label)
        return ax
    points = curve.points
    low, high = curve.interval
    if has_density:
        (line,) = ax.plot(points, curve.heights, label=label)
    else:
        (line,) = ax.plot(points, curve.heights, "o-", markersize=3, linewidth=0.5, label=label)
    ax.fill_between(
        points,
        curve.heights,
        where=((points >= low) & (points <= high)).tolist(),
        step=None if has_density else "mid",
        color=line.get_color(),
        alpha=0.25,
    )
    ax.axvline(distribution.mean, color=line.get_color(), linestyle="--", linewidth=1)
    ax.set_ylabel("density" if has_density else "probability")
    return ax


def draw_intervals(estimates: Mapping[str, UncertainNumber | float], title: str, ax: Axes | None) -> Axes:
    """Draw the mean of each number as a point and its 90 % interval as a line, the first at the top.

    Of many those farthest from 0 are drawn.
    """
    ax = axes_for(ax)
    means = {name: one if isinstance(one, float) else float(one.mean) for name, one in estimates.items()}
    far = set(sorted(means, key=lambda name: -abs(means[name]))[:_MAX_ROWS])
    names = [name for name in means if name in far]
    for row, name in enumerate(names):
        estimate = estimates[name]
        if not isinstance(estimate, float):
            ax.plot(estimate.interval(MASS), (row, row), color="C0", linewidth=2, alpha=0.6)
        ax.plot(means[name], row, "o", color="C0")
    ax.axvline(0.0, color="0.7", linewidth=1, zorder=0)
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    more = len(means) - len(names)
    ax.set_title(f"{title}, {more:,} smaller ones left out" if more else title)
    return ax


def draw_labels(
    probabilities: Mapping[Hashable, float], top: Hashable, interval: tuple[float, float], ax: Axes | None
) -> Axes:
    """Draw the probability of each label as a bar, and the interval of the most probable one as a line."""
    ax = axes_for(ax)
    labels = sorted(probabilities, key=lambda label: -probabilities[label])[:_MAX_ROWS]
    rows = np.arange(len(labels))
    ax.barh(rows, [probabilities[label] for label in labels], color="C0", alpha=0.6)
    if labels:
        ax.plot(interval, (labels.index(top),) * 2, color="0.2", linewidth=2)
    ax.set_yticks(rows, [str(label) for label in labels])
    ax.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel("probability")
    return ax
