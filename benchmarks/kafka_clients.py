"""kafka-python, on which KafkaLog stands, against confluent-kafka, on one broker and the same topics."""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from statistics import median, quantiles
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.kafka_adapters import ADAPTERS, Adapter, Row, Topics
from benchmarks.kafka_broker import missing_broker, new_topics, open_broker
from benchmarks.worker_mails import read_mails

REPEATS = 7
POLL = 1_000
# Mails that a turn writes; the broker keeps them all until the end, half a gigabyte.
WRITTEN = 10_000
# Records a transaction, and how many transactions are timed in a turn.
TRANSACTIONS = {1_000: 19, 100: 100}
OURS = "kafka-python"
CONSUME = "consume"
PRODUCE = "produce, acknowledged"


class Span(NamedTuple):
    """The number of records, their wall-clock and CPU seconds, and the wall-clock seconds of each transaction."""

    records: int
    wall: float
    cpu: float
    transactions: tuple[float, ...] = ()


Turn = dict[str, Span]
"""Everything that is measured of a client, once."""


def run(console: Console) -> None:
    """Print the tables."""
    missing = missing_broker()
    if missing:
        console.print(f"Kafka clients are not measured: {missing}")
        return
    logging.getLogger("kafka").setLevel(logging.ERROR)
    mails = 2 * [mail.raw for mail in read_mails()[0]]
    with open_broker() as address, new_topics(address, Topics._fields) as names:
        turns = measured(address, Topics(*names), mails)
    versions = ", ".join(f"{name} {version(name)}" for name in (*ADAPTERS, "crc32c"))
    mean = sum(map(len, mails)) / len(mails)
    console.print(f"{versions}; mails of {mean:,.0f} bytes in the mean; broker and client on this machine")
    console.print(rate_table(turns, mean))
    console.print(transaction_table(turns))


def measured(address: str, topics: Topics, mails: Sequence[bytes]) -> dict[str, list[Turn]]:
    """Several turns of each client, one after the other, so that all are disturbed alike."""
    filler = ADAPTERS[OURS](address, topics._replace(written=topics.mails))
    filler.write(mails)
    filler.close()
    turns: dict[str, list[Turn]] = {name: [] for name in ADAPTERS}
    for _ in range(REPEATS + 1):
        for name, adapter in ADAPTERS.items():
            turns[name].append(turn(adapter(address, topics), mails))
    # The first turn loads code, and warms up the broker.
    return {name: done[1:] for name, done in turns.items()}


def turn(client: Adapter, mails: Sequence[bytes]) -> Turn:
    """Every measurement once, with clients that have their connections and have done each thing before."""
    warm_up(client, mails[:100])
    spans = {CONSUME: consumed(client, len(mails)), PRODUCE: produced(client, mails[:WRITTEN])}
    spans |= {transacting(batch): transacted(client, batch, count) for batch, count in TRANSACTIONS.items()}
    client.close()
    return spans


def transacting(batch: int) -> str:
    return f"transactions of {batch:,}"


def warm_up(client: Adapter, mails: Sequence[bytes]) -> None:
    rows: list[Row] = []
    while not rows:
        rows = client.poll(1)
    client.transact(rows)
    client.write(mails)


def consumed(client: Adapter, count: int) -> Span:
    """From the rewinding, after which nothing fetched before counts, to the last record."""
    gc.collect()
    wall = time.perf_counter()
    cpu = time.process_time()
    client.rewind()
    offset = -1
    while offset < count - 1:
        rows = client.poll(POLL)
        assert not rows or rows[0].offset == offset + 1, "records are read twice, or left out"
        offset = rows[-1].offset if rows else offset
    return Span(count, time.perf_counter() - wall, time.process_time() - cpu)


def produced(client: Adapter, mails: Sequence[bytes]) -> Span:
    gc.collect()
    wall = time.perf_counter()
    cpu = time.process_time()
    client.write(mails)
    return Span(len(mails), time.perf_counter() - wall, time.process_time() - cpu)


def transacted(client: Adapter, batch: int, count: int) -> Span:
    """From the rewinding to the last commit."""
    gc.collect()
    times = []
    wall = time.perf_counter()
    cpu = time.process_time()
    client.rewind()
    for rows in batches(client, batch, count):
        begin = time.perf_counter()
        client.transact(rows)
        times.append(time.perf_counter() - begin)
    return Span(batch * count, time.perf_counter() - wall, time.process_time() - cpu, tuple(times))


def batches(client: Adapter, batch: int, count: int) -> Iterator[list[Row]]:
    for _ in range(count):
        rows: list[Row] = []
        while len(rows) < batch:
            rows += client.poll(batch - len(rows))
        yield rows


def rate_table(turns: dict[str, list[Turn]], mean: float) -> Table:
    """A transaction consumes its mails and produces a prediction for each."""
    table = Table(title=f"mails a second by the clock, median of {REPEATS} turns")
    for column in ("", "client", "mails/s", "MB/s of mails", f"ratio to {OURS}", "CPU, µs a mail"):
        table.add_column(column, justify="right" if len(table.columns) > 1 else "left")
    for what in turns[OURS][0]:
        ours = median_rate(turns[OURS], what)
        for name, done in turns.items():
            rate = median_rate(done, what)
            cpu = median(each[what].cpu / each[what].records for each in done) * 1e6
            cells = f"{rate:,.0f}", f"{rate * mean / 1e6:.0f}", f"{rate / ours:.2f}", f"{cpu:.1f}"
            table.add_row(what if name == OURS else "", name, *cells)
    return table


def median_rate(turns: Sequence[Turn], what: str) -> float:
    return median(each[what].records / each[what].wall for each in turns)


def transaction_table(turns: dict[str, list[Turn]]) -> Table:
    table = Table(title="one transaction, ms from its begin until the commit has returned, of all turns together")
    for column in ("mails", "client", "median", "99th percentile", f"ratio of medians to {OURS}"):
        table.add_column(column, justify="left" if column == "client" else "right")
    for batch in TRANSACTIONS:
        ours = median(times_of(turns[OURS], batch))
        for name, done in turns.items():
            times = times_of(done, batch)
            middle = median(times)
            late = quantiles(times, n=100, method="inclusive")[-1]
            cells = f"{middle * 1e3:.1f}", f"{late * 1e3:.1f}", f"{middle / ours:.2f}"
            table.add_row(f"{batch:,}" if name == OURS else "", name, *cells)
    return table


def times_of(turns: Sequence[Turn], batch: int) -> list[float]:
    return [seconds for each in turns for seconds in each[transacting(batch)].transactions]
