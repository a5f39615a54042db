"""Schedule of spam campaigns: each starts, changes its wording and stops."""

from __future__ import annotations

from random import Random
from typing import NamedTuple


class Campaign(NamedTuple):
    """A spam campaign and its parameters."""

    name: str
    start: float
    """The start, as a fraction of all mails."""
    stop: float
    wordings: int
    """The number of wordings that it uses one after another, see `texts/`."""
    weight: float = 1.0
    """The relative number of its mails."""
    mask: str = "person"
    """The kind of sender that it imitates: "person", "shop", "bill", "bank", "colleague"."""
    hides: float = 0.0
    """The fraction of words that it disguises at its end."""
    borrows: str = "say"
    """The grammar rule of ham sentences that it mixes with its own."""


CAMPAIGNS = (
    Campaign("pills", 0.0, 0.55, 3, 1.6, "shop", 0.35, "news_say"),
    Campaign("heirs", 0.0, 0.40, 2, 1.0, "person", 0.0, "stranger_say"),
    Campaign("loans", 0.0, 0.62, 2, 1.0, "bank", 0.15, "bill_say"),
    Campaign("lottery", 0.0, 0.25, 1, 0.8, "person", 0.1, "sale_say"),
    Campaign("links", 0.08, 1.0, 1, 0.5, "person", 0.0, "stranger_say"),
    Campaign("stocks", 0.14, 0.42, 2, 1.2, "person", 0.25, "say"),
    Campaign("bills", 0.24, 0.60, 2, 1.2, "bill", 0.0, "bill_say"),
    Campaign("dating", 0.33, 0.70, 2, 1.0, "person", 0.1, "english_say"),
    Campaign("parcel", 0.43, 0.82, 2, 1.2, "bill", 0.0, "bill_say"),
    Campaign("watches", 0.52, 0.90, 2, 1.0, "shop", 0.2, "sale_say"),
    Campaign("jobs", 0.60, 1.0, 2, 0.9, "person", 0.0, "stranger_say"),
    Campaign("bank", 0.66, 1.0, 2, 1.2, "bank", 0.1, "notice_say"),
    Campaign("coins", 0.75, 1.0, 2, 1.4, "shop", 0.3, "news_say"),
    Campaign("lottery again", 0.80, 1.0, 2, 0.8, "shop", 0.1, "sale_say"),
    Campaign("thread", 0.48, 1.0, 1, 0.8, "colleague", 0.0, "say"),
    Campaign("diet", 0.92, 1.0, 1, 1.2, "shop", 0.2, "news_say"),
)

_BURST = 2.5
"""The factor on the weight in the first tenth of a campaign."""


class Span(NamedTuple):
    """The first and last mail of a campaign."""

    name: str
    start: int
    stop: int


def spans(mails: int) -> list[Span]:
    """Return the start and stop of each campaign in a mailbox of this size."""
    return [Span(one.name, round(one.start * mails), round(one.stop * mails)) for one in CAMPAIGNS]


def choose(random: Random, moment: float) -> tuple[Campaign, float]:
    """Draw a campaign that runs at this fraction of all mails, and return it with the fraction of it that is over."""
    running = [
        (one, (moment - one.start) / (one.stop - one.start)) for one in CAMPAIGNS if one.start <= moment < one.stop
    ]
    weights = [one.weight * (_BURST if phase < 0.1 else 1.0) for one, phase in running]
    return random.choices(running, weights)[0]


def wording(random: Random, campaign: Campaign, phase: float) -> int:
    """Draw the wording of a campaign at this phase. The change from one wording to the next is gradual."""
    place = phase * campaign.wordings + random.gauss(0.0, 0.2)
    return 1 + min(max(int(place), 0), campaign.wordings - 1)
