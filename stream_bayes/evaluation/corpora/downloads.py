"""Public corpora that river downloads."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from stream_bayes.errors import CorpusError, ParameterError

if TYPE_CHECKING:
    from river.datasets.base import RemoteDataset

_PATIENCE: Final = 60.0
"""Seconds without a byte after which a download is given up."""


class Public(NamedTuple):
    """A corpus that river knows where to get."""

    dataset: str
    """Its class in river.datasets, and its folder."""
    file: str
    description: str


PUBLIC: Final = {
    "sms-spam": Public("SMSSpam", "SMSSpamCollection", "5,574 text messages, 13 % spam, 0.5 MB"),
    "trec07": Public("TREC07", "trec07p.csv", "75,419 mails of the TREC 2007 spam track in order, 67 % spam, 145 MB"),
}


def downloaded() -> Iterator[Path]:
    """The public corpora that are here already."""
    home = Path(os.environ.get("RIVER_DATA", "~/river_data")).expanduser()
    for public in PUBLIC.values():
        path = home / public.dataset / public.file
        if path.is_file():
            yield path


def get(name: str) -> Path:
    """The file of a public corpus, downloaded if it is not here; CorpusError if it cannot be had."""
    if name not in PUBLIC:
        message = f"no public corpus is called {name!r}; there are {' and '.join(PUBLIC)}"
        raise ParameterError(message)
    # Imported here: river takes half a second, and the rest of this module does not need it.
    from river import datasets  # noqa: PLC0415

    return fetch(name, getattr(datasets, PUBLIC[name].dataset)())


def fetch(name: str, dataset: RemoteDataset) -> Path:
    """Let river download a data set, speaking on the error output and giving up when nothing comes."""
    path = Path(dataset.path)
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_PATIENCE)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            dataset.download()
    except (OSError, zipfile.BadZipFile, EOFError) as cause:
        raise _unavailable(name, dataset, str(getattr(cause, "reason", cause))) from cause
    finally:
        socket.setdefaulttimeout(before)
    if not dataset.is_downloaded:
        raise _unavailable(name, dataset, f"what came does not have the {dataset.size:,} bytes that river expects")
    return path


def _unavailable(name: str, dataset: RemoteDataset, why: str) -> CorpusError:
    by_hand = f"unpack {dataset.url} into {Path(dataset.path).parent}"
    message = f"cannot get {name}: {why}; it needs a network, or by hand: {by_hand}"
    return CorpusError(message, "not-downloaded")
