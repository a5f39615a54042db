"""Mails that are made to be expensive to show, by their size in bytes, and the time that the page needs for one."""

from __future__ import annotations

import time
from collections.abc import Callable

from stream_bayes.events import Observation
from stream_bayes.web.services.labelling_service import LabellingService
from stream_bayes.web.services.observation_view import RenderedObservation, shown_of


def _repeated(unit: bytes, size: int) -> bytes:
    """The text repeated to this number of bytes."""
    return (unit * (size // len(unit) + 1))[:size]


_HTML_HEAD = b"Subject: s\nContent-Type: text/html\n\n"
_MIXED_HEAD = b"Content-Type: multipart/mixed; boundary=b\n\n"
EXPENSIVE_MAILS: dict[str, Callable[[int], bytes]] = {
    "userinfo": lambda size: _HTML_HEAD + b"<a href='http://" + b"@" * size + b":x:'>y</a>",
    "userinfos": lambda size: _HTML_HEAD + b"<a href='http://" + _repeated(b"a@", size) + b":x:'>y</a>",
    "tags": lambda size: _HTML_HEAD + _repeated(b"<", size),
    "links": lambda size: _HTML_HEAD + _repeated(b"<a href='http://a.example/b'>c</a> ", size),
    "elements": lambda size: _HTML_HEAD + _repeated(b"<div>", size),
    "comments": lambda size: _HTML_HEAD + _repeated(b"<!--", size),
    "styles": lambda size: _HTML_HEAD + _repeated(b"<p style='color:white;font-size:0'>a</p>", size),
    "open-styles": lambda size: _HTML_HEAD + _repeated(b"<p style='font-size:0'>a", size),
    "seen-styles": lambda size: _HTML_HEAD + _repeated(b"<td style='color:red'>a</td>", size),
    "pictures": lambda size: _HTML_HEAD + _repeated(b"<img alt=a>", size),
    "areas": lambda size: _HTML_HEAD + _repeated(b"<area href=//b.example alt=a>", size),
    "forms": lambda size: _HTML_HEAD + _repeated(b"<form action=//b.example>a<input value=x>", size),
    "entities": lambda size: _HTML_HEAD + _repeated(b"&amp;&#x41;&", size),
    "addresses": lambda size: b"Subject: s\n\n" + _repeated(b"http://a@b.example/x ", size),
    "words": lambda size: b"Subject: s\n\n" + b" ".join(b"w%x" % (n * 7919) for n in range(size // 8)),
    "word": lambda size: b"Subject: s\n\n" + b"a" * size,
    "marks": lambda size: (
        b"Content-Type: text/plain; charset=utf-8\n\n" + _repeated("\u0430\u0301\u200b ".encode(), size)
    ),
    "header": lambda size: _repeated(b"Received: from a by b\n", size) + b"\nx",
    "encoded-words": lambda size: b"Subject: " + _repeated(b"=?utf-8?b?YQ==?= ", size) + b"\n\nx",
    "parts": lambda size: _MIXED_HEAD + _repeated(b"--b\n\nx\n", size),
    "nested-parts": lambda size: b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (depth, depth) for depth in range(size // 60)
    ),
    "quoted-printable": lambda size: (
        b"Content-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n" + _repeated(b"=3C=\n", size)
    ),
}


def render_seconds(service: LabellingService, raw: bytes) -> float:
    """The CPU time of this thread to answer with a label request that has this mail; one must be in the queue."""
    queued = service.store.queue.waiting()[0]
    observation = Observation(id="hostile", raw=raw)
    begin = time.thread_time()
    shown = shown_of(observation)
    prediction = service.models.predict(observation, 0)
    rendered = RenderedObservation(observation, shown, 0)
    service.observation_view.body_of(queued, rendered, prediction).model_dump_json()
    return time.thread_time() - begin
