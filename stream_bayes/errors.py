"""Exceptions of the package, all subclasses of `StreamBayesError`.

    StreamBayesError            (code "error")
    ├── ParameterError          (code "bad-parameter")     an argument outside its range
    ├── InputError              (code "bad-input")         an event that cannot be used
    ├── EvidenceError           (code "bad-evidence")      the evidence does not allow the operation
    │   ├── UnlearnError        (code "cannot-unlearn")    the event was never learned
    │   └── MergeError          (code "cannot-merge")      two learners of different classes or priors
    ├── NoPosterior             (code "no-posterior")      a learner has no posterior of that kind or name
    ├── NumericalError          (code "numerical")         a result that is not finite
    ├── MissingExtra            (code "missing-extra")     an optional package that is not installed
    ├── CorpusError             (code "bad-corpus")        a file or folder of mails that cannot be read
    ├── ConfigError             (code "bad-config")        a setting that is unknown or out of range
    ├── EventError              (a rejection code)         a record that becomes a dead letter
    ├── LogError                (code "bad-log")           a log that cannot be opened, read or written
    │   ├── LogNotFound         (code "log-not-found")     there is no such file
    │   ├── LogLocked           (code "log-locked")        another process holds the lock; retriable
    │   ├── LogFull             (code "log-full")          no space left
    │   ├── LogUnavailable      (code "log-unavailable")   the broker does not answer; retriable
    │   ├── LogRebalanced       (code "log-rebalanced")    partitions were assigned to another worker
    │   ├── LogGap              (code "log-gap")           retention removed records that were not read
    │   └── LogConflict         (code "log-conflict")      another worker has the same instance id
    ├── RecoveryError           (code "cannot-recover")    the log lacks records that the checkpoint needs
    ├── WorkerError             (code "cannot-run")        a worker that has already run
    ├── BackgroundError         (code "thread-failed")     a background thread of a worker or of the page failed
    └── SnapshotError           (code "bad-snapshot")      a file that is not a usable snapshot
        ├── SnapshotDamaged     (code "snapshot-damaged")  truncated or edited
        ├── SnapshotTooNew      (code "snapshot-too-new")  written by a later version
        └── CheckpointMismatch  (code "other-settings")    written with other settings

`code` is stable: programs may compare it. `retriable` says whether the same call may succeed later without a
change. An error is raised before any state is assigned.
"""

from __future__ import annotations

_MAX_SHOWN = 200


def shown(value: object) -> str:
    """Return the `repr` of a value for a message, of limited length, also where `repr` fails.

    It fails for integers of more than 4300 digits and for values that are nested too deeply.

    Examples
    --------
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
    """Base class of all exceptions of the package."""

    code = "error"
    retriable = False


class ParameterError(StreamBayesError, ValueError):
    """An argument of a constructor or method outside its range, such as a negative prior count."""

    code = "bad-parameter"


class InputError(StreamBayesError, ValueError):
    """An event that a learner cannot use: NaN, a wrong type, a negative count, an unknown label."""

    code = "bad-input"


class EvidenceError(StreamBayesError, ValueError):
    """An operation that the evidence of a learner does not allow."""

    code = "bad-evidence"


class UnlearnError(EvidenceError):
    """An event that cannot be unlearned: a count would become negative, so it was never learned."""

    code = "cannot-unlearn"


class MergeError(EvidenceError):
    """Two learners that cannot be merged, since they differ in class or in a parameter."""

    code = "cannot-merge"


class NoPosterior(StreamBayesError):
    """A learner has no posterior of this kind. The message names the kinds it has."""

    code = "no-posterior"


class NumericalError(StreamBayesError, ArithmeticError):
    """An update whose result is not finite. The state is unchanged."""

    code = "numerical"


class MissingExtra(StreamBayesError, ImportError):
    """An optional package that is not installed. The message says how to install it."""

    code = "missing-extra"


class CorpusError(StreamBayesError, ValueError):
    """A corpus, or one mail of it, that cannot be read. The message names the file or line.

    `kind` is the kind of the problem ("missing-label", "duplicate-id", ...), by which skipped mails are counted.
    """

    code = "bad-corpus"

    def __init__(self, message: str, kind: str = "unrecognised") -> None:
        super().__init__(message)
        self.kind = kind


class ConfigError(StreamBayesError, ValueError):
    """A setting that is unknown or has an invalid value. The message names the setting and its origin."""

    code = "bad-config"


class EventError(StreamBayesError, ValueError):
    """A record that is rejected: it becomes a dead letter with this code."""

    def __init__(self, code: str, message: str, observation: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.observation = observation
        """The offset of the observation of a rejected label, if it is known."""


class LogError(StreamBayesError, OSError):
    """A log that cannot be opened, read or written. The message says what to do."""

    code = "bad-log"


class LogNotFound(LogError, FileNotFoundError):
    """A file of a log that does not exist. Commands that only read create none."""

    code = "log-not-found"


class LogLocked(LogError):
    """A timeout while another process held the lock of the log. The same call may succeed later."""

    code = "log-locked"
    retriable = True


class LogFull(LogError):
    """A log without space for more records. Committed records are safe."""

    code = "log-full"


class LogUnavailable(LogError):
    """A broker that cannot be reached or does not answer in time. The same call may succeed later."""

    code = "log-unavailable"
    retriable = True


class LogRebalanced(LogError):
    """A commit that was aborted by a rebalance. The next poll returns the partitions of this worker."""

    code = "log-rebalanced"


class LogGap(LogError):
    """Records that retention removed before they were read. `kafka.on_offset_gap` says what to do."""

    code = "log-gap"

    def __init__(self, topic: str, partition: int, wanted: int, begins: int) -> None:
        message = (
            f"{topic}-{partition} begins at offset {begins} now, and {wanted} to {begins - 1} were not read yet: "
            'they are lost. With kafka.on_offset_gap = "earliest" the worker continues after them'
        )
        super().__init__(message)
        self.topic = topic
        self.partition = partition
        self.wanted = wanted
        self.begins = begins


class LogConflict(LogError):
    """A worker that was fenced by another worker with the same instance id. It must stop."""

    code = "log-conflict"


class RecoveryError(StreamBayesError, RuntimeError):
    """A checkpoint that cannot be recovered: the log lacks records that it needs, or ends before it."""

    code = "cannot-recover"


class WorkerError(StreamBayesError, RuntimeError):
    """A worker that has already run. Create a new one."""

    code = "cannot-run"


class BackgroundError(StreamBayesError, RuntimeError):
    """A background thread that failed with an unexpected exception, the cause. The program ends."""

    code = "thread-failed"


class SnapshotError(StreamBayesError, ValueError):
    """A file that cannot be read as a snapshot of a learner."""

    code = "bad-snapshot"


class SnapshotDamaged(SnapshotError):
    """A snapshot that was truncated or edited: the checksum or the arrays do not match the header."""

    code = "snapshot-damaged"


class SnapshotTooNew(SnapshotError):
    """A snapshot in the format of a later version. Update stream_bayes to open it."""

    code = "snapshot-too-new"


class CheckpointMismatch(SnapshotError):
    """A checkpoint of an engine with another compatibility key. The message lists the settings that differ."""

    code = "other-settings"


def reason_of(problem: Exception) -> str:
    """Return the message of an exception, with the file name of an `OSError`."""
    if isinstance(problem, OSError) and problem.strerror:
        place = f" ({problem.filename})" if problem.filename else ""
        return f"{problem.strerror}{place}"
    return str(problem) or type(problem).__name__
