"""README stays short, and README and the documentation are written in short sentences and plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))

MAX_LINES = 200
MAX_WORDS = 30
AVOIDED = (
    "so many",
    "nobody",
    "somebody",
    "anew",
    "of late",
    "unsaid",
    "passed over",
    "what came of",
    "it is told",
    "rests on",
    "without favour",
)

_FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z][^>]*>")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_INLINE_CODE = re.compile(r"(`+)(?:(?!\1).)+\1", re.DOTALL)
_NEW_BLOCK = re.compile(r"\s*(?:#+|[-*+]|\d+\.|>)\s+")
_EMPHASIS = re.compile(r"[*_]+(?=\w)|(?<=[\w.!?)])[*_]+")
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])|:\s*$")


def sentences(markdown: str) -> Iterator[str]:
    """Yield the sentences of a page, without code blocks, tables, pictures and the addresses of links.

    Code within a line counts as one word. A heading, an item of a list and a paragraph each begin a new sentence.
    """
    text = _COMMENT.sub("", _FENCED.sub("\n\n", markdown))
    text = _LINK.sub(r"\1", _IMAGE.sub("", _TAG.sub("", text)))
    for block in _blocks(_INLINE_CODE.sub("Code", text).splitlines()):
        yield from (found for part in _SENTENCE_END.split(_EMPHASIS.sub("", block)) if (found := part.strip()))


def _blocks(lines: list[str]) -> Iterator[str]:
    """Join the lines of each paragraph, heading and item of a list; leave out tables and indented code."""
    block: list[str] = []
    may_be_code = True
    in_list = False
    for line in [*lines, ""]:
        text = line.strip()
        code = may_be_code and line.startswith("    ") and not (in_list and line[4:5] != " ")
        starts = None if code else _NEW_BLOCK.match(line)
        if not text or code or starts or text.startswith("|"):
            yield " ".join(block)
            block = []
        may_be_code = not text or code
        if starts:
            in_list = not text.startswith("#")
            block.append(line[starts.end() :].strip())
        elif text and not code and not text.startswith("|"):
            in_list = in_list and line.startswith(" ")
            block.append(text)
        if text.startswith("#"):
            yield " ".join(block)
            block = []


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# A heading\nOne. Two!\n", ["A heading", "One", "Two!"]),
        ("A line\nis wrapped.\n\n- an\n  item\n- another\n", ["A line is wrapped.", "an item", "another"]),
        ("Before:\n\n    code in a block. Not a sentence.\n\n    more\n\nAfter.", ["Before", "After."]),
        ("```python\n>>> print(1)\n```\nText with `some. code` in it.", ["Text with Code in it."]),
        ("| a | b |\n|---|---|\n| one. two | three |\n", []),
        ("See [the page](a.md#b), version 0.1.0, e.g. here.", ["See the page, version 0.1.0, e.g. here."]),
        ("**Bold.** Then <b>tags</b>.", ["Bold", "Then tags."]),
    ],
)
def test_sentences_are_found(markdown: str, expected: list[str]) -> None:
    assert list(sentences(markdown)) == expected


def test_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("page", [README, *TUTORIALS], ids=lambda page: page.name)
def test_sentences_are_short(page: Path) -> None:
    found = list(sentences(page.read_text(encoding="utf-8")))
    assert len(found) > 10
    assert [sentence for sentence in found if len(sentence.split()) > MAX_WORDS] == []


@pytest.mark.parametrize("page", [README, *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.name)
def test_words_are_plain(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").lower().split())
    assert [phrase for phrase in AVOIDED if re.search(rf"\b{phrase}\b", text)] == []


def test_readme_names_the_two_commands() -> None:
    text = README.read_text(encoding="utf-8")
    assert "make run" in text
    assert "make test" in text
