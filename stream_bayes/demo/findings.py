"""What the demo found, as rows of a table and as one object for machines."""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.demo.coin import CoinFrame, coin_frames
from stream_bayes.demo.line import LineFrame, line_frames
from stream_bayes.demo.weather import QUESTION, WeatherFrame, weather_frames


class Finding(NamedTuple):
    """One unknown number and what the learner made of it."""

    name: str
    truth: float | None
    """None where nobody knows it."""
    mean: float
    interval: tuple[float, float]
    """Of 95 %."""

    @property
    def holds(self) -> bool | None:
        """Whether the interval holds the truth; None where nobody knows."""
        low, high = self.interval
        return None if self.truth is None else low <= self.truth <= high


class Last(NamedTuple):
    """The last frame of each part."""

    coin: CoinFrame
    weather: WeatherFrame
    line: LineFrame


def generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    """The randomness of the coin and of the line; neither depends on how much the other draws."""
    coin, line = np.random.default_rng(seed).spawn(2)
    return coin, line


def warm_up() -> None:
    """Run a little of every learner, so that its kernels are compiled before anybody watches."""
    coin, line = generators(0)
    for frames in (coin_frames(coin), weather_frames(), line_frames(line)):
        list(islice(frames, 3))


def final_frames(seed: int) -> Last:
    """Every part run to its end without a display."""
    coin, line = generators(seed)
    *_, last_coin = coin_frames(coin)
    *_, last_day = weather_frames()
    *_, last_point = line_frames(line)
    return Last(last_coin, last_day, last_point)


def findings(last: Last) -> tuple[Finding, ...]:
    """The rows of the closing table."""
    coin, answer, forecast = last.coin, last.weather.answer, last.line.forecast
    return (
        Finding("coin: P(heads)", coin.true_bias, coin.mean, coin.interval),
        Finding("weather: P(yes)", None, answer.mean, answer.interval),
        *(Finding(f"line: {name}", truth, mean, interval) for name, truth, mean, interval in last.line.weights),
        Finding(f"line: at x = {forecast.x}", forecast.true_mean, forecast.mean, forecast.mean_interval),
    )


def report(seed: int, last: Last) -> dict[str, Any]:
    """All final figures, not rounded, as JSON can hold them."""
    return {
        "seed": seed,
        "coin": _coin_report(last.coin),
        "weather": _weather_report(last.weather),
        "line": _line_report(last.line),
        "findings": [{**finding._asdict(), "holds": finding.holds} for finding in findings(last)],
    }


def _coin_report(frame: CoinFrame) -> dict[str, Any]:
    successes, failures = frame.posterior
    kept = ("true_bias", "mean", "interval", "noise", "ignorance", "log_loss", "best_log_loss")
    counts = {"tosses": frame.step, "heads": frame.heads, "posterior": {"successes": successes, "failures": failures}}
    return counts | {name: getattr(frame, name) for name in kept}


def _weather_report(frame: WeatherFrame) -> dict[str, Any]:
    return {
        "days": frame.step,
        "said": frame.said,
        "right": frame.right,
        "log_loss": frame.log_loss,
        "question": QUESTION,
        "answer": frame.answer._asdict(),
        "outlook_given_yes": {value: belief._asdict() for value, belief in frame.outlook_given_yes.items()},
    }


def _line_report(frame: LineFrame) -> dict[str, Any]:
    return {
        "points": frame.step,
        "held": frame.held,
        "weights": [weight._asdict() for weight in frame.weights],
        "prior_entropy": frame.entropies[0],
        "entropy": frame.entropies[-1],
        "forecast": frame.forecast._asdict(),
    }
