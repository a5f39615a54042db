"""`stream-bayes classify` as tests call it: its command line, and a mail of each kind."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.commands import COMMAND as WHOLE_COMMAND

COMMAND = (*WHOLE_COMMAND, "classify")
SPAM = b"From: win@prizes.example\nSubject: You have won cash\n\nClick http://prizes.example/cash now, limited offer!\n"
HAM = b"From: ann@example.org\nSubject: Lunch on Tuesday\n\nShall we meet at noon in the canteen? The report is done.\n"
Command = Callable[..., tuple[int, str, str]]
