"""`python -m tests.chaos`: exits with 0 if nothing was lost, doubled or changed."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.broker_faults import BrokerFaults, Plan
from tests.chaos.killer import Killer
from tests.chaos.log_locations import kafka_place, sqlite_place
from tests.chaos.run import run_chaos
from tests.chaos.workspace import ChaosWorkspace
from tests.support.broker import Broker, install_missing_tools, kafka_jars, missing_tools


def main() -> None:
    """Run it as the arguments say; without a folder in one that is removed afterwards."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--log", choices=("sqlite", "kafka"), default="sqlite")
    parser.add_argument("--partitions", type=int, default=1, help="of a SQLite log; on Kafka there are 4")
    parser.add_argument("--messages", type=int, help="300,000, and 170,000 on Kafka: 100,000 e-mails and their labels")
    parser.add_argument("--kills", type=int, help="of workers: 100, and 35 on Kafka")
    parser.add_argument("--brokers", type=int, default=4, help="how often the broker is killed")
    parser.add_argument("--rebalances", type=int, default=6, help="how often one more worker comes and goes")
    parser.add_argument("--zombies", type=int, default=3, help="how often a worker sleeps too long")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6, help="by default another one each time")
    parser.add_argument("--folder", type=Path, help="an empty folder, which is kept")
    given = parser.parse_args()
    sys.stderr.write(f"seed {given.seed}\n")
    if given.folder is not None:
        given.folder.mkdir(parents=True, exist_ok=True)
        print(_run(given, given.folder.resolve()))
        return
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        print(_run(given, Path(folder)))


def _run(given: argparse.Namespace, folder: Path) -> str:
    if given.log == "sqlite":
        scene = ChaosWorkspace(folder, sqlite_place(folder, given.partitions), given.messages or 300_000, given.seed)
        return run_chaos(scene, lambda scene: Killer(scene, given.kills or 100), _say)
    install_missing_tools()
    if missing := missing_tools():
        sys.exit(f"chaos on Kafka needs {' and '.join(missing)}: install Java 17 and Maven")
    plan = Plan(given.kills or 35, given.brokers, given.rebalances, given.zombies)
    with Broker(kafka_jars()) as broker:
        scene = ChaosWorkspace(folder, kafka_place(broker.address), given.messages or 170_000, given.seed)
        return run_chaos(scene, lambda scene: BrokerFaults(scene, broker, plan), _say)


def _say(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")


if __name__ == "__main__":
    main()
