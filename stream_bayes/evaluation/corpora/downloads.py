"""Public corpora, downloaded by river."""

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

_TIMEOUT: Final = 60.0
"""The longest time without a byte, in seconds, before a download fails."""


class PublicCorpus(NamedTuple):
    """A corpus that river can download."""

    dataset: str
    """The name of its class in river.datasets, and of its folder."""
    file: str
    description: str


PUBLIC_CORPORA: Final = {
    "sms-spam": PublicCorpus("SMSSpam", "SMSSpamCollection", "5,574 text messages, 13 % spam, 0.5 MB"),
    "trec07": PublicCorpus(
        "TREC07", "trec07p.csv", "75,419 mails of the TREC 2007 spam track in order, 67 % spam, 145 MB"
    ),
}


def downloaded_corpora() -> Iterator[Path]:
    """The paths of the public corpora that have been downloaded."""
    home = Path(os.environ.get("RIVER_DATA", "~/river_data")).expanduser()
    for public in PUBLIC_CORPORA.values():
        path = home / public.dataset / public.file
        if path.is_file():
            yield path


def download_corpus(name: str) -> Path:
    """The path of a public corpus, downloaded if necessary; CorpusError if that fails."""
    if name not in PUBLIC_CORPORA:
        message = f"no public corpus is called {name!r}; there are {' and '.join(PUBLIC_CORPORA)}"
        raise ParameterError(message)
    # Imported here: river takes half a second, and the rest of this module does not need it.
    from river import datasets  # noqa: PLC0415

    return fetch(name, getattr(datasets, PUBLIC_CORPORA[name].dataset)())


def fetch(name: str, dataset: RemoteDataset) -> Path:
    """Download a data set by river, with its output on stderr and a timeout."""
    path = Path(dataset.path)
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_TIMEOUT)
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
