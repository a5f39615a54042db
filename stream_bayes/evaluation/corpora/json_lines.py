"""The reader of JSON lines: one object on each line, plain or gzip."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.corpora.files import NumberedLines, corpus_errors, open_decompressed
from stream_bayes.evaluation.corpora.labels import UNLABELLED, read_label
from stream_bayes.evaluation.corpora.mail import UnreadMail, compose_message, encodable, problem, shown

LOOKED_FOR: Final = "JSON lines (.jsonl, .jsonl.gz): one object a line with id, label, and text or raw"


class JsonLines:
    """Objects with `id`, `label`, and `text` or `raw` (base64); `subject` and `sender` if there are any.

    Parameters
    ----------
    path
        The file.
    label
        The label of messages without one; by default they are a problem. `"label": null` marks an unknown label.

    Notes
    -----
    The order is that of the lines. The id of a message without one is its line, `line-7`. Other fields are
    ignored: dates tell the label in some corpora.
    """

    format = "json lines"
    classes_apart = False

    def __init__(self, path: Path, label: str = "") -> None:
        self._path = path
        self._label = label

    @staticmethod
    def fits(head: bytes) -> bool:
        """Whether a file with this beginning is JSON lines."""
        return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")

    def __iter__(self) -> Iterator[UnreadMail | CorpusError]:
        with corpus_errors(self._path), open_decompressed(self._path) as file:
            lines = NumberedLines(self._path, file)
            while True:
                try:
                    line = next(lines)
                    if line.strip():
                        yield self._entry(line, lines)
                except StopIteration:
                    return
                except CorpusError as error:
                    yield error

    def _entry(self, line: bytes, lines: NumberedLines) -> UnreadMail:
        place = lines.place()
        try:
            record = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as cause:
            raise problem("invalid-json", place, f"not valid JSON ({cause})") from cause
        if not isinstance(record, dict):
            raise problem("invalid-json", place, "not a JSON object, {..}")
        own_id = _id(record, place)
        name = own_id or f"line-{lines.number}"
        read = partial(_read, record, f"{place}, id {name}", self._label)
        return UnreadMail(name, place, read, not own_id, is_row=True)


def _id(record: dict[str, Any], place: str) -> str:
    """The id of a record, or ""."""
    name = record.get("id")
    if name is None or name == "":
        return ""
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise problem("bad-id", place, f"the id {shown(repr(name), 60)} is neither a string nor a whole number")
    return encodable(str(name))


def _read(record: dict[str, Any], place: str, otherwise: str) -> tuple[str | None, bytes]:
    value = record.get("label", "")
    label = read_label(UNLABELLED if value is None else value, place, otherwise)
    has_text, has_raw = (record.get(name) is not None for name in ("text", "raw"))
    if has_text == has_raw:
        both = "both a text and" if has_raw else "neither a text nor"
        raise problem("bad-text", place, f"the message has {both} raw")
    if has_raw:
        return label, _raw(record["raw"], place)
    text, subject, sender = (_bytes(record, name, place) for name in ("text", "subject", "sender"))
    return label, compose_message(text, subject, sender)


def _bytes(record: dict[str, Any], name: str, place: str) -> bytes:
    value = record.get(name)
    if value is None:
        return b""
    if not isinstance(value, str):
        raise problem("bad-text", place, f"the {name} is {shown(repr(value), 60)}, not a string")
    return value.encode("utf-8", "surrogatepass")


def _raw(value: object, place: str) -> bytes:
    if not isinstance(value, str):
        raise problem("bad-text", place, f"raw is {shown(repr(value), 60)}, not a string of base64")
    try:
        return base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, ValueError) as cause:
        raise problem("bad-text", place, f"raw is not base64 ({cause})") from cause
