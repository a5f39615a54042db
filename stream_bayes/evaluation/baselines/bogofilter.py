"""The program bogofilter, with its word list in a folder of its own."""

from __future__ import annotations

import subprocess
from tempfile import TemporaryDirectory

from stream_bayes.errors import InputError
from stream_bayes.evaluation.baselines.base import Baseline, log_odds

_CALLED_SPAM = 0
_FAILED = 3


class Bogofilter(Baseline):
    """bogofilter as it is configured when installed: Robinson's and Fisher's combination of word probabilities.

    Notes
    -----
    A mail is its raw bytes, whole; bogofilter decodes MIME and reads headers itself. One process for each mail scores
    and registers it: `-u` registers a mail as what it was classified to be, and the cutoffs are set so that the
    classification is the label (-TT prints the score, which they do not change). Its bulk mode cannot do this: with
    `-u` it counts each mail again for every one that follows. Configuration files of the machine are not read.
    """

    max_bytes = None

    def __init__(self) -> None:
        self.name = "bogofilter"
        self._folder = TemporaryDirectory(prefix="stream-bayes-bogofilter-")
        self._command = ["bogofilter", "-C", "-d", self._folder.name]
        self._run(["-n"], b"")

    def _test_then_train_one(self, mail: bytes, spam: bool | None) -> float:
        done = self._run([*_learning_options(spam), "-TT"], mail)
        if spam is not None and spam != (done.returncode == _CALLED_SPAM):
            # The score was below the cutoff that was meant to be below all.
            self._run(["-N", "-s"] if spam else ["-S", "-n"], mail)
        return log_odds(float(done.stdout))

    def _run(self, options: list[str], mail: bytes) -> subprocess.CompletedProcess[bytes]:
        # In a session of its own, Ctrl-C on the terminal does not reach it.
        done = subprocess.run(
            [*self._command, *options], input=mail, capture_output=True, check=False, start_new_session=True
        )
        if done.returncode >= _FAILED or done.returncode < 0:
            message = f"bogofilter failed: {done.stderr.decode('utf-8', 'replace').strip()}"
            raise InputError(message)
        return done

    def close(self) -> None:
        """Remove the word list."""
        self._folder.cleanup()


def _learning_options(spam: bool | None) -> list[str]:
    """The options that classify any mail as its label, and register it as that."""
    if spam is None:
        return []
    # bogofilter takes a cutoff of 0 as not set, and one of 1e-300 as 0.
    return ["-u", "-o", "1e-12,1e-12"] if spam else ["-u", "-o", "1.5,0"]
