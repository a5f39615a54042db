"""Invalid records by the million: each must be an event, or an error with a known code.

    python -m tests.soak.fuzz_events --records 1000000

shows how far it is, and ends with code 1 if a record is neither, or if memory grows after the first tenth.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable

from stream_bayes.events import Label, Observation
from tests.soak.memory import MAX_GROWTH, resident_bytes
from tests.support.fuzzed_records import LIMITS, outcome_of, random_record

_PARTS = 10


def fuzz(records: int, seed: int, passed: Callable[[int], None] = lambda _: None) -> Counter[str]:
    """How often each kind of event and each code was the outcome; `passed` is called after every tenth.

    Raises AssertionError, with the record, where the outcome is anything else.
    """
    rng = random.Random(seed)
    outcomes: Counter[str] = Counter()
    tenth = max(records // _PARTS, 1)
    for number in range(1, records + 1):
        outcomes[outcome_of(random_record(rng), rng.choice((Observation, Label)), LIMITS)] += 1
        if number % tenth == 0:
            passed(number)
    return outcomes


def main() -> int:
    """Fuzz as the arguments say; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.fuzz_events")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.records < 1:
        parser.error("--records must be at least 1")
    start = time.perf_counter()
    memory = list[int]()

    def passed(number: int) -> None:
        memory.append(resident_bytes())
        print(f"{number:>12,} records  {time.perf_counter() - start:6.1f} s  {memory[-1] / 2**20:6.1f} MiB", flush=True)

    try:
        outcomes = fuzz(arguments.records, arguments.seed, passed)
    except AssertionError as problem:
        print(f"neither an event nor a known error: {problem}", file=sys.stderr)
        return 1
    print(", ".join(f"{name} {count:,}" for name, count in outcomes.most_common()))
    growth = max(memory) / memory[0]
    print(f"memory after the first tenth: x {growth:.3f}, at most x {MAX_GROWTH} is allowed")
    return 0 if growth < MAX_GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
