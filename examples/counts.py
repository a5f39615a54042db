"""Counts: who is at the desk, by what they ask for (PoissonNB), and how many come at each hour (PoissonRegression).

Look at the posteriors: PoissonNB keeps a Gamma belief about each rate, so that it says how sure it is of it.
PoissonRegression takes gradient steps and keeps a point: all of its variance is the noise of a Poisson count.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from stream_bayes import Gamma, PoissonNB, PoissonRegression

RATES: Final = {"children": {"comics": 3.0, "maps": 0.2}, "hikers": {"comics": 0.3, "maps": 2.0}}
"""Books that a group of visitors asks for, on average."""
BASE: Final = 4.0
GROWTH: Final = 0.3
"""Visitors in hour h: BASE exp(GROWTH h)."""


def learn_groups(visits: int, seed: int) -> PoissonNB:
    """Learn which group asks for what."""
    generator = np.random.default_rng(seed)
    model = PoissonNB(prior=Gamma(1, 1))
    for _ in range(visits):
        group = str(generator.choice(list(RATES)))
        model.learn_one({book: int(generator.poisson(rate)) for book, rate in RATES[group].items()}, group)
    return model


def learn_hours(days: int, seed: int) -> PoissonRegression:
    """Learn how many visitors come in hours 0 to 4."""
    generator = np.random.default_rng(seed)
    model = PoissonRegression()
    for _ in range(days):
        for hour in range(5):
            model.learn_one({"hour": float(hour)}, int(generator.poisson(BASE * np.exp(GROWTH * hour))))
    return model


def main() -> None:
    """Print what was learned."""
    groups = learn_groups(visits=200, seed=1)
    print("rate of a book in a visit: true, posterior mean, 95 % interval")
    for group, rates in RATES.items():
        for book, rate in rates.items():
            belief = groups.posterior(book, group)
            low, high = belief.interval(0.95)
            print(f"  {group:<9}{book:<7}{rate:>5.2f}{belief.mean:>7.3f}   {low:.3f} to {high:.3f}")
    probability = groups.predict_proba_one({"comics": 1, "maps": 1})["hikers"]
    print(f"one comic and one map: hikers with probability {probability:.3f}")
    hours = learn_hours(days=400, seed=1)
    print("visitors in an hour: true, predicted, 95 % interval of the count")
    for hour in range(5):
        count = hours.predictive_one({"hour": float(hour)})
        low, high = count.interval(0.95)
        print(f"  {hour}{BASE * np.exp(GROWTH * hour):>7.2f}{count.mean:>7.2f}   {low:.0f} to {high:.0f}")


if __name__ == "__main__":
    main()
