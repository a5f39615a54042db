"""A whole chaos run: preparation, kills, verification."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.chaos.killer import Killed, Killer
from tests.chaos.verification import Verified, verify
from tests.chaos.workspace import ChaosWorkspace

Say = Callable[[str], None]


def run_chaos(scene: ChaosWorkspace, killer: Callable[[ChaosWorkspace], Killer], say: Say) -> str:
    """Run it in a new scene and return a summary; an AssertionError says what was not as it must be."""
    began = time.monotonic()
    scene.prepare()
    prepared = time.monotonic()
    killed = killer(scene).run(say)
    say("verifying")
    verifying = time.monotonic()
    verified = verify(scene)
    ended = time.monotonic()
    took = (
        f"{ended - began:.0f} s: preparing {prepared - began:.0f}, "
        f"killing {killed.seconds:.0f}, verifying {ended - verifying:.0f}"
    )
    return "\n".join([f"{scene.messages:,} messages, seed {scene.seed}; {took}", *_summary(killed, verified)])


def _summary(killed: Killed, verified: Verified) -> list[str]:
    how = ", ".join(f"{count} {what}" for what, count in sorted(killed.kills.items()))
    others = "".join(f", {count} {what}" for what, count in killed.others.items() if count)
    dead = ", ".join(f"{count:,} {code}" for code, count in verified.dead.most_common())
    return [
        f"{killed.kills.total()} kills of a worker ({how}){others}",
        f"{killed.replayed:,} events learned again, {verified.commits:,} commits",
        f"{verified.predictions:,} predictions: one for each e-mail; {verified.requests} label requests: each once",
        f"{verified.learned:,} labels learned: each once",
        f"{verified.forwarded:,} labels forwarded: each once",
        f"{verified.dead.total():,} dead letters: one for each bad record ({dead})",
        "the state is that of one pass in the order of the journal, bit for bit",
    ]
