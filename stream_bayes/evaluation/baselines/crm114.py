"""CRM114's classifier of orthogonal sparse bigrams, in one process that is fed mail by mail."""

from __future__ import annotations

import math
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, cast

from stream_bayes.errors import InputError
from stream_bayes.evaluation.baselines.base import Baseline
from stream_bayes.evaluation.filters import HAM, SPAM

LENGTH = 16_000
THICKNESS = 10.0

# One command a line: "score" reads the file `mail`, prints the pR of spam and keeps the text; "spam" and "ham" learn it
# and print "learned", so that the tables are not read before that.
# Anything else ends it, and so does the end of the commands, which crm reads as empty lines without an end.
_PROGRAM = r"""window
isolate (:line:)
isolate (:stats:)
isolate (:text:)
{
    input <byline> (:line:)
    {
        match [:line:] /score/
        input (:text:) [mail]
        { classify <osb unique microgroom> [:text:] (spam.css | ham.css) (:stats:) }
        {
            match [:stats:] (:: :ratio:) /pR: +([-.0-9]+)/
            output /:*:ratio:\n/
        }
        alius
        {
            output /nothing\n/
        }
    }
    {
        match [:line:] /spam/
        learn <osb unique microgroom> [:text:] (spam.css)
        output /learned\n/
    }
    {
        match [:line:] /ham/
        learn <osb unique microgroom> [:text:] (ham.css)
        output /learned\n/
    }
    match [:line:] /score|spam|ham/
    liaf
}
"""


class Crm114(Baseline):
    """CRM114 with `<osb unique microgroom>`, trained on mails that it classifies wrongly or with a small margin.

    Notes
    -----
    A mail is its first 16,000 raw bytes, the length at which CRM114's own mail filter decides. pR is the decimal
    logarithm of the odds. As its authors advise, only mails that are not classified well are learned: those with pR
    below 10 towards their label, twice the margin its configuration comes with, and better here. Learning every mail is
    three times worse and fills its tables.
    """

    max_bytes = LENGTH

    def __init__(self) -> None:
        self.name = "crm114"
        self._folder = TemporaryDirectory(prefix="stream-bayes-crm114-")
        place = Path(self._folder.name)
        (place / "serve.crm").write_text(_PROGRAM)
        self._mail = place / "mail"
        for label in (SPAM, HAM):
            command = ["cssutil", "-b", "-r", f"{label}.css"]
            subprocess.run(command, cwd=place, capture_output=True, check=True, start_new_session=True)
        pipe = subprocess.PIPE
        nowhere = subprocess.DEVNULL
        # In a session of its own, Ctrl-C on the terminal does not reach it.
        self._process = subprocess.Popen(
            ["crm", "-e", "serve.crm"], cwd=place, stdin=pipe, stdout=pipe, stderr=nowhere, start_new_session=True
        )
        self._commands, self._answers = (cast(IO[bytes], end) for end in (self._process.stdin, self._process.stdout))

    def _test_then_train_one(self, mail: bytes, spam: bool | None) -> float:
        self._mail.write_bytes(mail[:LENGTH])
        try:
            self._send("score")
            ratio = float(self._answers.readline())
            if spam is not None and (ratio if spam else -ratio) < THICKNESS:
                self._send(SPAM if spam else HAM)
                if self._answers.readline() != b"learned\n":
                    message = "it has not learned a mail"
                    raise ValueError(message)
        except (BrokenPipeError, ValueError) as problem:
            message = f"crm has ended or gave an answer that was not expected: {problem}"
            raise InputError(message) from problem
        return ratio * math.log(10.0)

    def _send(self, command: str) -> None:
        self._commands.write(f"{command}\n".encode())
        self._commands.flush()

    def close(self) -> None:
        """End the process and remove its tables."""
        # The process may have ended, and this may be the second time.
        with suppress(BrokenPipeError, ValueError):
            self._send("stop")
        with suppress(BrokenPipeError):
            self._commands.close()
        self._answers.close()
        self._process.wait()
        self._folder.cleanup()
