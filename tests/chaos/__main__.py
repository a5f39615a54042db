"""`python -m tests.chaos`: exits with 0 if nothing was lost, doubled or changed."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.play import play


def main() -> None:
    """Run it as the arguments say; without a folder in one that is removed afterwards."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--messages", type=int, default=300_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6, help="by default another one each time")
    parser.add_argument("--folder", type=Path, help="an empty folder, which is kept")
    given = parser.parse_args()
    sys.stderr.write(f"seed {given.seed}\n")

    def say(text: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{text}")

    if given.folder is not None:
        given.folder.mkdir(parents=True, exist_ok=True)
        print(play(given.folder.resolve(), given.messages, given.kills, given.seed, say))
        return
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        print(play(Path(folder), given.messages, given.kills, given.seed, say))


if __name__ == "__main__":
    main()
