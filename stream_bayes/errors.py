"""Every error this package raises on purpose.

    StreamBayesError            (code "error")
    ├── ParameterError          (code "bad-parameter")     a constructor argument that cannot work
    ├── InputError              (code "bad-input")         an event that cannot be used
    ├── EvidenceError           (code "bad-evidence")      the evidence does not allow the operation
    │   ├── UnlearnError        (code "cannot-unlearn")    there is nothing like it to take back
    │   └── MergeError          (code "cannot-merge")      two learners of different kinds or priors
    ├── NoPosterior             (code "no-posterior")      a learner has no posterior of that kind or name
    ├── NumericalError          (code "numerical")         arithmetic left the finite numbers
    ├── CorpusError             (code "bad-corpus")        a file or folder of mails that cannot be read
    ├── ConfigError             (code "bad-config")        a setting that is unknown or cannot work
    ├── EventError              (code of its own)          a record that is no event, or an event that cannot be used
    ├── LogError                (code "bad-log")           a log that cannot be opened, read or written
    │   ├── LogLocked           (code "log-locked")        somebody else holds it; may be tried again
    │   ├── LogFull             (code "log-full")          no space left
    │   ├── LogUnavailable      (code "log-unavailable")   the broker does not answer; may be tried again
    │   ├── LogRebalanced       (code "log-rebalanced")    partitions went to another worker
    │   ├── LogGap              (code "log-gap")           records are gone that were never read
    │   └── LogConflict         (code "log-conflict")      another worker took the same place
    ├── RecoveryError           (code "cannot-recover")    the log no longer holds what the checkpoint needs
    ├── WorkerError             (code "cannot-run")        a worker that was run before
    ├── BackgroundError         (code "thread-failed")     a background thread of a worker or of the page failed
    └── SnapshotError           (code "bad-snapshot")      a file that is not a usable snapshot
        ├── SnapshotDamaged     (code "snapshot-damaged")  cut short or edited
        ├── SnapshotTooNew      (code "snapshot-too-new")  written by a later version
        └── CheckpointMismatch  (code "other-settings")    of an engine with other settings

`code` is stable: logs, dead letters and tests may match on it. `retriable` says whether the same call may
succeed later without anybody changing anything. An error is raised before any state has been assigned.
"""

from __future__ import annotations

_MAX_SHOWN = 200


def shown(value: object) -> str:
    """The representation of a value in a message, of limited length, also where `repr` fails.

    Python refuses to write whole numbers of more than 4300 digits, and a nested value may be too deep for it.

    >>> shown("spam"), shown(10**5000)
    ("'spam'", 'an int that cannot be written out')
    """
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        return f"{_article(type(value).__name__)} that cannot be written out"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _article(noun: str) -> str:
    return f"an {noun}" if noun[:1].lower() in "aeiou" else f"a {noun}"


class StreamBayesError(Exception):
    """Root of the tree: catch this to catch everything the package raises on purpose."""

    code = "error"
    retriable = False


class ParameterError(StreamBayesError, ValueError):
    """A constructor or method argument outside what it can mean, such as a negative prior count."""

    code = "bad-parameter"


class InputError(StreamBayesError, ValueError):
    """An event the learner cannot use: NaN, a wrong type, a negative count, an unknown label."""

    code = "bad-input"


class EvidenceError(StreamBayesError, ValueError):
    """An operation on evidence that the evidence itself does not allow."""

    code = "bad-evidence"


class UnlearnError(EvidenceError):
    """Taking the event back would leave a count below zero: it was never learned like this."""

    code = "cannot-unlearn"


class MergeError(EvidenceError):
    """The two learners differ in class or in a parameter, so their evidence does not add up."""

    code = "cannot-merge"


class NoPosterior(StreamBayesError):
    """A learner has no posterior of this kind. The message names the kinds it has."""

    code = "no-posterior"


class NumericalError(StreamBayesError, ArithmeticError):
    """An update whose result is not finite; it was refused and the state is as it was."""

    code = "numerical"


class CorpusError(StreamBayesError, ValueError):
    """A corpus, or one message of it, that cannot be read; the message names the file or line.

    `kind` says in a word or two what is wrong ("missing-label", "duplicate-id", ..): what is counted where errors do
    not stop the reading.
    """

    code = "bad-corpus"

    def __init__(self, message: str, kind: str = "unrecognised") -> None:
        super().__init__(message)
        self.kind = kind


class ConfigError(StreamBayesError, ValueError):
    """A setting that is unknown, or a value that it cannot have; the message names the setting and where it stood."""

    code = "bad-config"


class EventError(StreamBayesError, ValueError):
    """A record that is no event, or an event that cannot be used: it becomes a dead letter with this code."""

    def __init__(self, code: str, message: str, observation: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.observation = observation
        """The offset of the observation that a label was for, where that is known."""


class LogError(StreamBayesError, OSError):
    """A log that cannot be opened, read or written; the message says what to do about it."""

    code = "bad-log"


class LogLocked(LogError):
    """Another process holds the log for longer than one waits; the same call may succeed later."""

    code = "log-locked"
    retriable = True


class LogFull(LogError):
    """There is no space left where the log is; what was not committed is not in it, what was is safe."""

    code = "log-full"


class LogUnavailable(LogError):
    """The broker cannot be reached, or does not answer in time; the same call may succeed later."""

    code = "log-unavailable"
    retriable = True


class LogRebalanced(LogError):
    """A commit was given up: its partitions may be another worker's by now; poll says what is left to this one."""

    code = "log-rebalanced"


class LogGap(LogError):
    """Records that were still to be read are gone: retention was faster. The settings say what to do then."""

    code = "log-gap"

    def __init__(self, topic: str, partition: int, wanted: int, begins: int) -> None:
        message = (
            f"{topic}-{partition} begins at offset {begins} now, and {wanted} to {begins - 1} were still to be read: "
            'they are lost. With kafka.on_offset_gap = "earliest" the stream goes on behind them'
        )
        super().__init__(message)
        self.topic = topic
        self.partition = partition
        self.wanted = wanted
        self.begins = begins


class LogConflict(LogError):
    """Another worker reads in the same place; this one committed nothing since, and must stop."""

    code = "log-conflict"


class RecoveryError(StreamBayesError, RuntimeError):
    """What a checkpoint needs to catch up is not in the log, or the checkpoint is ahead of the log."""

    code = "cannot-recover"


class WorkerError(StreamBayesError, RuntimeError):
    """A worker that cannot be run: it was run before; make a new one."""

    code = "cannot-run"


class BackgroundError(StreamBayesError, RuntimeError):
    """A background thread failed with an unexpected exception, which is the cause: the program ends."""

    code = "thread-failed"


class SnapshotError(StreamBayesError, ValueError):
    """A file that cannot be read as a snapshot of a learner."""

    code = "bad-snapshot"


class SnapshotDamaged(SnapshotError):
    """A snapshot that was cut short or edited: its checksum or its arrays do not fit its header."""

    code = "snapshot-damaged"


class SnapshotTooNew(SnapshotError):
    """A snapshot in a format later than this version reads; update stream_bayes to open it."""

    code = "snapshot-too-new"


class CheckpointMismatch(SnapshotError):
    """A checkpoint of an engine whose state has another shape; the message lists the settings that differ."""

    code = "other-settings"


def reason_of(problem: Exception) -> str:
    """What went wrong, and with which file."""
    if isinstance(problem, OSError) and problem.strerror:
        place = f" ({problem.filename})" if problem.filename else ""
        return f"{problem.strerror}{place}"
    return str(problem) or type(problem).__name__
