"""Fifty labellers on the page for a minute, while the worker has all the mail it can take; and hostile mails."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.web_labellers import LABELLERS, READING_SECONDS, SECONDS
from benchmarks.worker_mails import Mail, raw_events, read_mails
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.web.services.labelling_service import LabellingService
from tests.support.expensive_mails import EXPENSIVE_MAILS, render_seconds
from tests.support.web_testbed import WebTestBed, wait_until

ALONE_SECONDS = 20.0
"""Before the labellers come, and after they have gone."""
WARM_UP = 20_000
AHEAD = 15_000
AT_ONCE = 3_000
"""Mails until anything is measured, mails that always wait for the worker, and mails in a transaction."""
WARM_UP_SECONDS = 8.0
"""Of the page: it opens the newest checkpoint."""
LABEL_TARGET = 0.2
RATE_TARGET = 0.9
HOSTILE_BYTES = 2**20
HOSTILE_TARGET = 0.1
"""Seconds for which a request may hold the interpreter."""
PATIENCE = 120.0
SETTINGS = """\
log = "sqlite:///{log}"
[labels]
budget = 100000
audit_fraction = 0.0
max_open_requests = 300
[checkpoint]
folder = "{folder}"
[web]
port = 0
"""


class Load(NamedTuple):
    """What was measured."""

    alone: float
    """Mails a second without labellers."""
    beside: float
    """With them."""
    seconds: dict[str, list[float]]
    errors: dict[str, int]
    news: int


def run(console: Console) -> None:
    """Print the table."""
    mails, origin = read_mails()
    unlabelled = [mail._replace(label=None) for mail in mails]
    with tempfile.TemporaryDirectory() as folder:
        load = measured(Path(folder), unlabelled)
    console.print(
        f"The page: mails of {origin}, {LABELLERS} labellers for {SECONDS:.0f} s, each reads for {READING_SECONDS} s"
    )
    console.print(request_table(load))
    console.print(rate_table(load))
    with tempfile.TemporaryDirectory() as folder:
        console.print(hostile_table(hostile_seconds(Path(folder))))


def hostile_seconds(folder: Path) -> dict[str, float]:
    """The CPU seconds that the page takes to show each hostile mail, the least of three."""
    testbed = WebTestBed(folder)
    testbed.send_generated(60)
    testbed.work()
    with LabellingService(testbed.settings) as service:
        wait_until(lambda: service.store.ready)
        return {
            name: min(render_seconds(service, made(HOSTILE_BYTES)) for _ in range(3))
            for name, made in EXPENSIVE_MAILS.items()
        }


def measured(folder: Path, mails: Sequence[Mail]) -> Load:
    """The worker without labellers, with them, and without them again."""
    config = folder / "settings.toml"
    seen = folder / "seen.json"
    config.write_text(SETTINGS.format(log=folder / "log.db", folder=folder / "checkpoints"))
    with SqliteLog(folder / "log.db") as log, started("run", config):
        feeder = Feeder(log, mails)
        feeder.until(lambda: feeder.predicted >= WARM_UP)
        begun = time.perf_counter()
        with started("web", config) as page:
            address = listening(page)
            feeder.until(lambda: time.perf_counter() > begun + WARM_UP_SECONDS)
            before = feeder.rate(ALONE_SECONDS)
            command = [sys.executable, "-m", "benchmarks.web_labellers", address, str(seen)]
            with subprocess.Popen(command) as labellers:
                beside = feeder.rate(SECONDS)
                feeder.until(lambda: labellers.poll() is not None)
            after = feeder.rate(ALONE_SECONDS)
    found = json.loads(seen.read_text())
    return Load((before + after) / 2.0, beside, found["seconds"], found["errors"], found["news"])


class Feeder:
    """Keeps mails waiting for the worker, and counts its predictions."""

    def __init__(self, log: SqliteLog, mails: Sequence[Mail]) -> None:
        self._log = log
        self._mails = mails
        self._sent = 0

    @property
    def predicted(self) -> int:
        """How many mails have a prediction."""
        return sum(self._log.end_offsets("predictions").values())

    def feed(self) -> None:
        """Send some more, if too few wait."""
        if self._sent - self.predicted < AHEAD:
            some = [
                self._mails[number % len(self._mails)]._replace(id=f"mail-{number}")
                for number in range(self._sent, self._sent + AT_ONCE)
            ]
            for topic, key, value, headers in raw_events(some):
                self._log.append(topic, value, key, headers=headers)
            self._log.commit({})
            self._sent += AT_ONCE
        else:
            time.sleep(0.02)

    def until(self, holds: Any) -> None:
        """Feed until something holds."""
        deadline = time.perf_counter() + PATIENCE
        while not holds():
            assert time.perf_counter() < deadline, "it does not come to this"
            self.feed()

    def rate(self, seconds: float) -> float:
        """Predictions a second over the next seconds."""
        first = self.predicted
        begun = time.perf_counter()
        while time.perf_counter() < begun + seconds:
            self.feed()
        return (self.predicted - first) / (time.perf_counter() - begun)


@contextmanager
def started(name: str, config: Path) -> Iterator[subprocess.Popen[str]]:
    """A command, which is ended afterwards."""
    command = [sys.executable, "-m", "stream_bayes.cli", name, "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def listening(page: subprocess.Popen[str]) -> str:
    """The address that it prints."""
    assert page.stdout is not None
    return next(word for word in page.stdout.readline().split() if word.startswith("http"))


def request_table(load: Load) -> Table:
    """Of each kind of request."""
    table = Table(title=f"ms a request; errors: {load.errors or 'none'}; news heard: {load.news:,}")
    for column in ("", "requests", "median", "99th percentile", "longest", "target"):
        table.add_column(column, justify="right" if table.columns else "left")
    for what, seconds in load.seconds.items():
        cuts = quantiles(seconds, n=100, method="inclusive")
        target = (
            f"{1e3 * LABEL_TARGET:.0f}, {'met' if cuts[98] <= LABEL_TARGET else 'missed'}" if what == "label" else ""
        )
        shown = (f"{1e3 * value:.0f}" for value in (cuts[49], cuts[98], max(seconds)))
        table.add_row(what, f"{len(seconds):,}", *shown, target)
    return table


def rate_table(load: Load) -> Table:
    """Of the worker."""
    table = Table(title="the worker, mails a second")
    for column in ("without labellers", "with them", "ratio", "target, at least"):
        table.add_column(column, justify="right")
    ratio = load.beside / load.alone
    verdict = "met" if ratio >= RATE_TARGET else "missed"
    table.add_row(f"{load.alone:,.0f}", f"{load.beside:,.0f}", f"{ratio:.0%}", f"{RATE_TARGET:.0%}, {verdict}")
    return table


def hostile_table(seconds: dict[str, float]) -> Table:
    """The mails that take longest."""
    table = Table(title=f"ms of CPU to show a hostile mail of {HOSTILE_BYTES:,} bytes, the slowest five")
    for column in ("mail", "ms", "target, at most"):
        table.add_column(column, justify="right" if table.columns else "left")
    for name in sorted(seconds, key=seconds.__getitem__, reverse=True)[:5]:
        verdict = "met" if seconds[name] <= HOSTILE_TARGET else "missed"
        table.add_row(name, f"{1e3 * seconds[name]:.0f}", f"{1e3 * HOSTILE_TARGET:.0f}, {verdict}")
    return table
