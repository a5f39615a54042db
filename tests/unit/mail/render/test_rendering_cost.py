"""The time to show a mail grows no faster than the mail, whatever is repeated in it, and is bounded."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from threading import Event, Thread
from typing import NamedTuple

import pytest

from stream_bayes.mail.parse.parsed_mail import MAX_PARSED
from stream_bayes.mail.render.links import target
from stream_bayes.mail.render.reader import render_mail, render_text
from stream_bayes.mail.render.summary import preview, sender, subject
from tests.support.rendered_mails import HTML, PLAIN

# fmt: off
_TOKENS = (
    b"<", b">", b"@", b":", b"/", b"\\", b"a", b"'", b'"', b"&", b";", b"[", b"]", b"(", b"%", b".", b",", b"?",
    b"#", b" ", b"\t", b"\n", b"\r\n", b"\n ", b"=", b"-", b"--", b"0", b"\x00", b"\xff", b"{", b"|", b"*",
    b"+", b"~", b"\xe2\x80\x8b", b"\xcc\x81", b"\xe2\x80\xae", b"\xc3\xa9", b"\xf0\x9f\x98\x80\xe2\x80\x8d",
    b"a@", b"@a", b"a:", b"a.", b"%40", b"../", b"http://", b"http://a@", b"www.a.b ", b"mailto:a@", b"a@;",
    b"[::1]", b"<a ", b"<b>", b"</b>", b"<p>", b"<img>", b"<img alt=a>", b"<a href=x>", b"<a href=//x>y</a>",
    b"<br>", b"<li>", b"<td>a", b"<pre>", b"<!--", b"-->", b"<!", b"<?", b"</", b"<script>", b"</script",
    b"<style>", b"<title>a</title", b"<i hidden>", b"<i hidden>a</i>", b"<form action=x>", b"<base href=//x>",
    b"='", b'="', b'a=\'" ', b"a=b ", b"/*", b"*/", b"a:b;", b"&#", b"&#x202e;", b"&amp", b"&a", b"&#0",
    b"=?utf-8?q?", b"=?utf-8?q?a?= ", b"?=", b"=?", b"name=", b'; name="', b"; name*0*=b", b"charset=",
    b"; charset=utf-7", b"boundary=", b"x-a: b\n", b"x- ", b"a:b\n", b"--b\n", b"\n--b", b"\n--bx",
    b"--b\nContent-Type: text/html\n\n<p>", b"Content-Type: message/rfc822\n\n",
    b"Content-Type: multipart/mixed; boundary=b\n\n--b\n", b"=41", b"=\n", b"+ADw-", b"begin 644 a\n", b"M",
)
# fmt: on
# What stands before the repeated token, and what stands behind it, in turns.
_FRAMES: dict[str, tuple[bytes, tuple[bytes, ...]]] = {
    "text": (PLAIN, (b"", b"x")),
    "html": (HTML, (b"", b">x")),
    "nothing": (b"", (b"",)),
    "authority": (HTML + b"<a href='http://", (b":x:'>y</a>", b"'>y</a>")),
    "link": (HTML + b'<base href=http://x.example/><a href="', (b'">y</a>', b"")),
    "mail link": (HTML + b"<a href='mailto:", (b",'>y</a>",)),
    "style": (HTML + b"<i style='", (b"'>x",)),
    "attribute": (HTML + b"<img alt=", (b">",)),
    "comment": (HTML + b"<!--", (b"-->",)),
    "subject": (b"Subject: ", (b"\n\nx",)),
    "sender": (b"From: ", (b"\n\nx",)),
    "type": (b"Content-Type: text/plain; ", (b"\n\nx",)),
    "disposition": (b"Content-Disposition: attachment; filename", (b"\n\nx",)),
    "mixed": (b"Content-Type: multipart/mixed; boundary=b\n\n--b\n", (b"\n--b--",)),
    "alternative": (b"Content-Type: multipart/alternative; boundary=b\n\n--b\n\nx\n--b\n", (b"",)),
    "quoted-printable": (b"Content-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n", (b"",)),
    "base64": (b"Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n", (b"",)),
    "uuencode": (b"Content-Transfer-Encoding: x-uuencode\n\nbegin 644 a\n", (b"\nend\n",)),
    "utf-7": (b"Content-Type: text/plain; charset=utf-7\n\n", (b"",)),
    "two tokens": (HTML + b"x<b>", (b"",)),
}
_SIZE = 4000
_GROWTH = 3.0
_SUSPECTED = 2.5
_DOUBLINGS = 4
# Below that, a time says nothing about growth.
_SECONDS = 0.0003
_LONGEST_HOLD = 0.1


class Construct(NamedTuple):
    """A text with something repeated in it."""

    name: str
    head: bytes
    unit: bytes
    tail: bytes
    work: Callable[[bytes], object]

    def text(self, size: int) -> bytes:
        """The text, of about this size."""
        return self.head + self.unit * (size // len(self.unit)) + self.tail


def _render(raw: bytes) -> object:
    return render_mail(raw), preview(raw), subject(raw), sender(raw)


def _follow_link(href: bytes) -> object:
    text = href.decode("utf-8", "replace")
    return target(text), target(text, "http://x.example/a/b")


def _constructs() -> Iterator[Construct]:
    for (frame, (head, tails)), (number, token) in product(_FRAMES.items(), enumerate(_TOKENS)):
        unit = token + _TOKENS[(7 * number + 3) % len(_TOKENS)] if frame == "two tokens" else token
        yield Construct(frame, head, unit, tails[number % len(tails)], _render)
    for (number, head), token in product(enumerate((b"http://", b"//", b"mailto:")), _TOKENS):
        yield Construct("target", head, token, (b":x:", b"")[number % 2], _follow_link)


def _seconds(construct: Construct, size: int, repeats: int) -> float:
    """The least CPU time of this thread."""
    text = construct.text(size)
    found = []
    for _ in range(repeats):
        begin = time.thread_time()
        construct.work(text)
        found.append(time.thread_time() - begin)
    return min(found)


def _grows_too_fast(construct: Construct) -> bool:
    """Whether doubling the size takes three times as long or more, at all doublings but one.

    A single one may be a step, as where a text becomes one that can be decoded, or noise of the machine.
    """
    if _seconds(construct, 2 * _SIZE, 1) < _SUSPECTED * max(_seconds(construct, _SIZE, 1), _SECONDS):
        return False
    slow = 0
    smaller = _seconds(construct, _SIZE, 5)
    for doubling in range(1, _DOUBLINGS + 1):
        larger = _seconds(construct, _SIZE << doubling, 2)
        slow += larger >= _GROWTH * max(smaller, _SECONDS)
        if slow < doubling - 1:
            return False
        smaller = larger
    return True


@pytest.mark.slow
def test_item08_time_of_rendering_and_links_is_linear() -> None:
    constructs = list(_constructs())
    assert len(set(constructs)) >= 2000
    assert not [construct[:4] for construct in constructs if _grows_too_fast(construct)]


@pytest.mark.slow
def test_item08_constructs_with_quadratic_time_are_found() -> None:
    pattern = re.compile(rb"(?:.*@)?(\[[^\]]*\]|[^:]*+)(?::([0-9]*))?", re.DOTALL)
    assert _grows_too_fast(Construct("quadratic", b"", b"@", b":x:", pattern.fullmatch))


_HOSTILE = (
    HTML + b"<a href='http://" + b"@" * 245_000 + b":x:'>y</a>",
    HTML + b"<a href='http://" + b"a@" * (2 << 20) + b":x:'>y</a>",
    HTML + b"<a href=../x>y" * (1 << 18),
    HTML + b"[<img>" * 700_000,
    HTML + b"<a b='\" " * 500_000,
    PLAIN + "F\u200b".encode() * (1 << 20),
    PLAIN + (b" " * 79 + b"x") * 50_000,
    b"Content-Type: message/rfc822\nSubject: =?a?q?=?a?q?=?a?q?\n\n" * 50_000,
)


def _longest_hold(work: Callable[[], object]) -> float:
    """The most CPU time that a thread takes while another, which wants to run, gets no turn in the interpreter."""
    begun = Event()
    clocks: list[int] = []
    # CPU time of the thread when it begins to work and when it has done so.
    times: list[float] = []

    def run() -> None:
        clocks.append(time.pthread_getcpuclockid(thread.ident or 0))
        times.append(time.thread_time())
        begun.set()
        work()
        times.append(time.thread_time())

    thread = Thread(target=run)
    thread.start()
    begun.wait()
    longest = 0.0
    last = times[0]
    while len(times) < 2 and thread.is_alive():
        try:
            now = time.clock_gettime(clocks[0])
        except OSError:
            break  # the thread has ended
        longest = max(longest, now - last)
        last = now
    thread.join()
    _, ended_at = times
    return max(longest, ended_at - last)


@pytest.mark.slow
def test_item08_no_mail_holds_the_interpreter() -> None:
    for raw in _HOSTILE:
        assert min(_longest_hold(partial(_render, raw)) for _ in range(3)) < _LONGEST_HOLD


def test_item08_rendering_reads_a_bounded_number_of_tags() -> None:
    for markup in (b"<b>", b"<img>", b"<a href=x>", b"<i hidden>a"):
        letter = render_mail(HTML + b"hello" + markup * (MAX_PARSED // len(markup) // 2))
        assert letter.cut
        assert letter.spans[-1].text == "the rest is left out: it has too many tags"
    pieces, cut = render_text("<p>hello" + "<b>" * 50_000)
    assert pieces[-1].text == "the rest is left out: it has too many tags"
    assert cut


def test_item08_a_host_stands_behind_the_last_at() -> None:
    names = "@".join(f"real{number}.example" for number in range(2000))
    assert target(f"http://{names}@evil.example:8080/").url == "http://evil.example:8080/"
    assert target(f"http://{names}@evil.example:x/").host is None
    assert target(f"http://{names}@[::1]/").host == "::1"
