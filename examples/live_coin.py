"""A coin is tossed event by event, and the density of its probability of heads is drawn live in the terminal.

The density starts flat, leans towards the first tosses, and becomes narrow as they add up: its width falls with the
square root of their number. The interval is the one that holds 90 % of the probability. If the output is not a
terminal, only the end is printed.

    python examples/live_coin.py --heads 0.3 --tosses 500 --pause 0.02
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Final

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.text import Text

from stream_bayes import Beta, BetaBernoulli

COLUMNS: Final = 60
ROWS: Final = 8
BLOCKS: Final = " ▁▂▃▄▅▆▇█"
"""Eighths of the height of a character."""


def draw_density(posterior: Beta) -> list[str]:
    """Return the lines of a picture of the density over 0 to 1, as high as its peak."""
    middles = (np.arange(COLUMNS) + 0.5) / COLUMNS
    density = posterior.density(middles)
    eighths = np.rint(8 * ROWS * density / density.max()).astype(int)
    lines = []
    for row in reversed(range(ROWS)):
        filled = np.clip(eighths - 8 * row, 0, 8)
        lines.append("".join(BLOCKS[count] for count in filled))
    return lines


def describe(posterior: Beta, tosses: list[bool]) -> Text:
    """Return the picture with the interval beneath it, and the figures."""
    low, high = posterior.interval(0.9)
    first = int(low * COLUMNS)
    last = min(int(high * COLUMNS), COLUMNS - 1)
    heads = sum(tosses)
    lines = [
        *draw_density(posterior),
        " " * first + "━" * (last - first + 1),
        "0" + "1".rjust(COLUMNS - 1),
        f"tosses {len(tosses)}, heads {heads}, the last ones {''.join('TH'[toss] for toss in tosses[-20:])}",
        f"{posterior}: mean {posterior.mean:.4f}, 90 % between {low:.4f} and {high:.4f}",
    ]
    return Text("\n".join(lines), no_wrap=True, overflow="crop")


def main() -> None:
    """Toss the coin, and draw what is known after each toss."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heads", type=float, default=0.6, help="probability of heads of the coin")
    parser.add_argument("--tosses", type=int, default=200, help="number of tosses")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between two tosses, in a terminal")
    parser.add_argument("--seed", type=int, default=1, help="seed of the tosses")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    coin = BetaBernoulli(prior=Beta(1, 1))
    tosses: list[bool] = []
    console = Console(highlight=False)
    # Where the output is not a terminal, Live prints the last picture only.
    with Live(describe(coin.posterior(), tosses), console=console, auto_refresh=False) as live:
        for _ in range(options.tosses):
            toss = chance.random() < options.heads
            coin.learn_one({}, toss)
            tosses.append(toss)
            live.update(describe(coin.posterior(), tosses), refresh=True)
            if console.is_terminal:
                time.sleep(options.pause)
    if not console.is_terminal:
        print()


if __name__ == "__main__":
    main()
