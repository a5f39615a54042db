from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream_bayes.mail.render.sanitize import HIDDEN, sanitized_runs, visible, visible_ends
from tests.support.rendered_mails import JOINERS, is_hidden

ONE = re.compile(f"[{HIDDEN}]")


def plainly(text: str) -> str:
    """Without what may become a mark, and blanks."""
    return "".join(
        c for c in text if not ONE.match(c) and unicodedata.category(c) not in ("Mn", "Me") and c not in " \t"
    )


@pytest.mark.slow
def test_all_that_unicode_calls_control_format_private_or_separator_is_hidden() -> None:
    missed = [f"{code:04X}" for code in range(0x110000) if is_hidden(chr(code)) and not ONE.match(chr(code))]
    assert missed == []


def test_letters_accents_punctuation_and_spaces_are_not_hidden() -> None:
    shown_as_they_are = ("Lu", "Ll", "Lt", "Lm", "Nd", "Nl", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Sm", "Sc", "Sk", "Zs")
    hidden = [code for code in range(0x110000) if ONE.match(chr(code))]
    assert [code for code in hidden if unicodedata.category(chr(code)) in shown_as_they_are] == []


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("", []),
        ("żółć 日本\tשלום\n مرحبا", ["żółć 日本\tשלום\n مرحبا"]),
        ("a\u202eb", ["a", "U+202E RIGHT-TO-LEFT OVERRIDE", "b"]),
        ("\x00" * 12, ["U+0000 NUL ×12"]),
        ("\ud800\ue000\uffff\u0378", ["U+D800 HALF OF A PAIR", "U+E000 PRIVATE USE", "U+FFFF NO CHARACTER", "\u0378"]),
        (
            "\u2028\x85\x1b\u3164",
            ["U+2028 LINE SEPARATOR", "U+0085 NEXT LINE", "U+001B ESCAPE", "U+3164 HANGUL FILLER"],
        ),
        ("\u200b \u200b", ["U+200B ZERO WIDTH SPACE", " ", "U+200B ZERO WIDTH SPACE"]),
        ("\u034f \u200c \xad " * 9 + "hi", ["27 hidden characters: U+034F, U+200C, U+00AD, …", " hi"]),
        ("é" + "\u0301" * 8 + "!", ["é" + "\u0301" * 8 + "!"]),
        ("e" + "\u0301\u0316" * 6 + "x", ["e" + "\u0301\u0316" * 4, "4 combining marks", "x"]),
        ("\u0301a", ["1 combining marks", "a"]),
        ("a\u200b\u0301b", ["a", "U+200B ZERO WIDTH SPACE", "1 combining marks", "b"]),
    ],
)
def test_runs(text: str, runs: list[str]) -> None:
    assert [run.text for run in sanitized_runs(text)] == runs


@pytest.mark.parametrize(
    "text", ["👨\u200d👩\u200d👧", "❤️\u200d🔥", "👍🏽", "1\ufe0f\u20e3", "☎️", "می\u200cخواهم", "क्\u200dष", "ශ්\u200dරී"]
)
def test_characters_of_writing_systems_are_kept(text: str) -> None:
    assert [run.text for run in sanitized_runs(text)] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "a\u200db",
        "a\ufe0f",
        "1\ufe0f",
        "👨\u200d",
        "\u200d👨",
        "👨\u200da",
        "a\ufe0f\u200d👨",
        "م\u200c",
        "م\u200c\u200cم",
    ],
)
def test_the_same_elsewhere_is_hidden(text: str) -> None:
    assert any(run.code for run in sanitized_runs(text))


@given(st.text() | st.text("a\u200b\u200d\ufe0f\u0301👨م \n\x00", max_size=40))
@example("\u200d👨\u200d\ufe0f\u200d👨")
def test_nothing_hidden_is_left_and_nothing_else_is_lost(text: str) -> None:
    runs = list(sanitized_runs(text))
    assert not any(is_hidden(character) and character not in JOINERS for run in runs for character in run.text)
    kept = "".join(run.text for run in runs if not run.code)
    assert plainly(kept) == plainly(text)


@pytest.mark.parametrize(
    ("text", "characters", "line"),
    [
        (" a\n\tb\r\n c ", 500, "a b c"),
        (" " * 5000 + "x", 500, "x"),
        ("a" * 9, 4, "aaa…"),
        ("ab\u202ecd", 9, "ab…"),
        ("ab\u202ecd", 12, "ab⟨U+202E⟩cd"),
        ("⟨" + "a" * 40, 30, "⟨" + "a" * 28 + "…"),
        ("\x00\x00", 500, "⟨U+0000 ×2⟩"),
        ("", 0, ""),
    ],
)
def test_one_line(text: str, characters: int, line: str) -> None:
    assert visible(text, characters) == line


@given(st.text(), st.integers(1, 60))
def test_a_line_is_as_long_as_it_may_be(text: str, characters: int) -> None:
    line = visible(text, characters)
    assert len(line) <= characters
    assert "\n" not in line


@pytest.mark.parametrize(
    ("text", "characters", "line"),
    [
        ("short.exe", 9, "short.exe"),
        ("a" * 50 + ".pdf.exe", 11, "aaaaa…f.exe"),
        ("ab\u202e" + "c" * 50 + "\u202ede", 13, "ab…de"),
    ],
)
def test_a_line_that_is_cut_in_its_middle(text: str, characters: int, line: str) -> None:
    assert visible_ends(text, characters) == line


@given(st.text(), st.integers(1, 60))
def test_such_a_line_is_as_long_as_it_may_be(text: str, characters: int) -> None:
    assert len(visible_ends(text, characters)) <= characters
