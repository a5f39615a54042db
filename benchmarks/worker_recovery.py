"""How soon a worker is back: learning again by the journal, and the first prediction after SIGKILL."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from rich.table import Table

from stream_bayes.config import CheckpointSettings, Settings
from stream_bayes.eventlog.base import Headers
from stream_bayes.eventlog.sqlite import SqliteLog
from stream_bayes.records import Partition
from stream_bayes.runtime import Worker

PATIENCE = 120.0
LOOK = 0.005
STARTS = 3


def table(folder: Path, events: Iterable[tuple[str, bytes, bytes, Headers]], count: int) -> Table:
    """Replay of all mails from no checkpoint, and starts from the newest one."""
    settings = settings_of(folder / "recovery")
    with SqliteLog(path_of(settings)) as log:
        for topic, key, value, headers in events:
            log.append(topic, value, key, 0, headers)
        log.commit({})
    with opened(settings) as log:
        Worker(settings, log).run(drain=True)
    starts = sorted(start_after_kill(settings, number) for number in range(STARTS))
    shutil.rmtree(settings.checkpoint_folder)
    with opened(settings) as log:
        begin = time.perf_counter()
        Worker(settings, log).recover()
        replay = time.perf_counter() - begin
    made = Table(title="after a crash")
    for column in ("learned again by the journal, events/s", "start to first prediction after SIGKILL, s", "longest"):
        made.add_column(column, justify="right")
    made.add_row(f"{count / replay:,.0f}", f"{starts[0]:.2f}", f"{starts[-1]:.2f}")
    return made


def settings_of(folder: Path) -> Settings:
    folder.mkdir()
    checkpoint = CheckpointSettings(folder=folder / "checkpoints", events=10**9, seconds=3600.0)
    return Settings(log=f"sqlite:///{folder / 'log.db'}", checkpoint=checkpoint)


def path_of(settings: Settings) -> Path:
    return Path(settings.log.removeprefix("sqlite:///"))


def opened(settings: Settings) -> SqliteLog:
    return SqliteLog(path_of(settings), settings.group, (settings.topics.observations, settings.topics.labels))


def start_after_kill(settings: Settings, number: int) -> float:
    """Seconds from the start of the command, one process killed before, to the prediction of a mail that waits."""
    process = start(settings)
    awaited(settings, number, "before")
    process.kill()
    process.wait()
    begin = time.perf_counter()
    process = start(settings)
    awaited(settings, number, "after")
    spent = time.perf_counter() - begin
    process.kill()
    process.wait()
    return spent


def start(settings: Settings) -> subprocess.Popen[bytes]:
    place = path_of(settings).parent / "stream_bayes.toml"
    kept = settings.checkpoint
    lines = [f'log = "{settings.log}"', "[checkpoint]", f'folder = "{kept.folder}"']
    place.write_text("\n".join([*lines, f"events = {kept.events}", f"seconds = {kept.seconds}"]), encoding="utf-8")
    command = (sys.executable, "-m", "stream_bayes.cli", "run", "--config", str(place))
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def awaited(settings: Settings, number: int, name: str) -> None:
    """Send a mail and wait for its prediction."""
    place = Partition(settings.topics.predictions, 0)
    with SqliteLog(path_of(settings)) as log:
        end = log.end_offsets(place.topic)[place]
        mail = b"Subject: are you there\n\nJust asking."
        log.append("emails", mail, f"{name}-{number}".encode(), 0, (("content-type", b"message/rfc822"),))
        log.commit({})
        deadline = time.monotonic() + PATIENCE
        while log.end_offsets(place.topic)[place] == end and time.monotonic() < deadline:
            time.sleep(LOOK)
