"""A whole chaos run: preparation, kills, verification."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.chaos.killing import Killer
from tests.chaos.messages import Script
from tests.chaos.scene import Scene
from tests.chaos.verification import fates_of, verify


def play(folder: Path, messages: int, kills: int, seed: int, say: Callable[[str], None]) -> str:
    """Run it in a folder and return a summary; an AssertionError says what was not as it must be."""
    began = time.monotonic()
    scene = Scene(folder, messages, seed)
    scene.prepare(iter(Script(seed, messages)))
    prepared = time.monotonic()
    killed = Killer(scene, kills).run(say)
    say("verifying")
    verifying = time.monotonic()
    verified = verify(scene, fates_of(Script(seed, messages)))
    ended = time.monotonic()
    how = ", ".join(f"{count} {what}" for what, count in sorted(killed.kills.items()))
    dead = ", ".join(f"{count:,} {code}" for code, count in verified.dead.most_common())
    return "\n".join(
        [
            f"{messages:,} messages, seed {seed}; {ended - began:.0f} s: preparing {prepared - began:.0f}, "
            f"killing {killed.seconds:.0f}, verifying {ended - verifying:.0f}",
            f"{killed.kills.total()} kills of the worker ({how}), {killed.producer_kills} of the producer",
            f"{killed.replayed:,} events learned again after kills, {verified.commits:,} commits",
            f"{verified.predictions:,} predictions: one for each e-mail; {verified.requests} label requests: each once",
            f"{verified.learned:,} labels learned: each once",
            f"{verified.dead.total():,} dead letters: one for each bad record ({dead})",
            "the state is that of one pass in the order of the journal, bit for bit",
        ]
    )
