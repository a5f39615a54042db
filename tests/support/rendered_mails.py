"""What tests of the reading view share: mails to begin with, and what holds of any letter."""

from __future__ import annotations

import unicodedata
from urllib.parse import urlsplit

from stream_bayes.mail.render.reader import RenderedMail
from stream_bayes.mail.render.spans import MAX_SHOWN, MAX_SPANS, TextSpan

HTML = b"Subject: s\nContent-Type: text/html; charset=utf-8\n\n"
PLAIN = b"Subject: s\nContent-Type: text/plain; charset=utf-8\n\n"
ALTERNATIVES = b"Subject: s\nContent-Type: multipart/alternative; boundary=x\n\n--x\n"
MIXED = b"Subject: s\nContent-Type: multipart/mixed; boundary=x\n\n--x\n"
JOINERS = "\u200c\u200d\ufe0e\ufe0f"
"""Characters that are hidden in some places and needed in others."""


def is_hidden(character: str) -> bool:
    """By Unicode's own categories, not by our list of ranges."""
    none = ord(character) & 0xFFFE == 0xFFFE or "\ufdd0" <= character <= "\ufdef"
    return (unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and character not in "\n\t") or none


def as_text(pieces: tuple[TextSpan, ...]) -> str:
    """The pieces in one text: [links -> hosts] and {marks}."""
    ways = {"text": "{0.text}", "link": "[{0.text} -> {0.host}]", "mark": "{{{0.text}}}"}
    return "".join(ways[piece.kind].format(piece) for piece in pieces)


def check_spans(pieces: tuple[TextSpan, ...]) -> None:
    """What holds of any pieces."""
    assert len(pieces) <= MAX_SPANS
    assert sum(len(piece.text) for piece in pieces if piece.kind != "mark") <= MAX_SHOWN + 200
    for piece in pieces:
        assert piece.text
        assert piece.kind != "mark" or len(piece.text) < 150
        assert not any(is_hidden(character) and character not in JOINERS for character in piece.text)
        assert (piece.kind == "link") == (piece.host is not None)
        if piece.url is not None:
            assert urlsplit(piece.url).scheme in ("http", "https")
            assert urlsplit(piece.url).hostname == piece.host


def check_rendered_mail(letter: RenderedMail) -> None:
    """What holds of any letter."""
    check_spans(letter.spans)
    for line in (letter.sender, letter.subject, *letter.attachments):
        assert len(line) <= 500
        assert not any(is_hidden(character) and character not in JOINERS for character in line)
        assert "\n" not in line
