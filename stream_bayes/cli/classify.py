"""`stream-bayes classify`."""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, Protocol, runtime_checkable

import typer

from stream_bayes.cli.app import Json, discard_output, print_error, replace_unencodable_output
from stream_bayes.errors import reason_of

if TYPE_CHECKING:
    from stream_bayes.mail.filter import MailPredictions, SpamFilter
    from stream_bayes.mail.filter.explanation import Explanation
    from stream_bayes.mail.filter.learned_mails import Change, LearnedMails
    from stream_bayes.persistence.checkpoint import Checkpoint

DELIVERED = 0
QUARANTINED = 1
# EX_TEMPFAIL of sysexits.h: a mail server keeps the mail and tries again.
TEMPORARY_FAILURE: Final = 75
_CHUNK_BYTES = 1 << 20
# The part of a learned mail that identifies it; mail servers accept no larger ones.
_MAX_MAIL_BYTES = 64 << 20
# A line of an envelope between two mails of an mbox, and the first header field after it.
_NEXT_MAIL = re.compile(rb"\n\r?\nFrom \S+ [^\n]*\d{4}\r?\n[!-9;-~]+:")
_MODEL = (
    "File of the filter; by default $XDG_DATA_HOME/stream_bayes/spam.model, else below ~/.local/share. To classify "
    "mails also a checkpoint of a worker, or a folder of checkpoints: the newest is used."
)
_LEARN = (
    "Learn the mail instead of classifying it; the first mail creates the file. A mail learned before with the other "
    "label is corrected; with the same label nothing changes."
)
_FILTER = "The filter that the first --learn creates: default (exact) or light. Ignored if the file exists."
_COST = "Cost of a ham in quarantine, in spams delivered; by default that of the model, 20 for a new one."

_EXPLAIN = "Print after the line the words, hosts and senders that moved the log-odds most, with their counts."


def _check_cost(cost: float | None) -> float | None:
    if cost is not None and not 0.0 < cost < math.inf:
        message = f"must be a number above 0, not {cost}"
        raise typer.BadParameter(message)
    return cost


class MailLabel(StrEnum):
    """The label of a mail."""

    SPAM = "spam"
    HAM = "ham"


class FilterKind(StrEnum):
    """The kind of a new filter."""

    DEFAULT = "default"
    LIGHT = "light"


@runtime_checkable
class MailClassifier(Protocol):
    """A fusion that predicts mails and knows the costs of a decision."""

    members: tuple[str, ...]
    false_positive_cost: float
    false_negative_cost: float

    def predictive_many(self, events: Iterable[bytes]) -> MailPredictions:
        """Predictions for many mails; nothing is learned."""

    def explain(self, x: bytes) -> Explanation:
        """What moved the log-odds of a mail most."""


class Verdict(NamedTuple):
    """The classification of a mail."""

    label: str
    probability: float
    """Of spam."""
    log_odds: float
    """Of spam."""
    action: str
    """"deliver" or "quarantine"."""


class ExplainedVerdict(NamedTuple):
    """The classification of a mail and its reasons."""

    verdict: Verdict
    explanation: Explanation | None
    """None unless it was requested."""


def classify(
    # Not checked by typer, whose error would end with code 2: a mail server would return the mail.
    model: Annotated[Path | None, typer.Option(metavar="FILE", readable=False, show_default=False, help=_MODEL)] = None,
    learn: Annotated[MailLabel | None, typer.Option(show_default=False, help=_LEARN)] = None,
    kind: Annotated[FilterKind | None, typer.Option("--filter", show_default=False, help=_FILTER)] = None,
    cost: Annotated[
        float | None, typer.Option(metavar="SPAMS", callback=_check_cost, show_default=False, help=_COST)
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help=_EXPLAIN)] = False,
    as_json: Json = False,
) -> None:
    """Classify or learn one mail from standard input.

    For a mailbox of many mails use produce and run.

    Prints one line, `X-Stream-Bayes: spam; probability=0.9973; action=quarantine; log-odds=5.91`, for the
    header of the mail; the probability is that of spam. At most 64,000 bytes of the mail are read, and never a
    line of that name.

    Exit codes: 0 to deliver the mail (or after learning it), 1 to quarantine it, 75 after an error such as an
    unreadable model, which tells a mail server to try again later, and 2 for wrong options.

    \b
    For procmail; formail removes a line of that name that came with the mail:
      VERDICT=`stream-bayes classify`
      :0 fw
      | formail -I "${VERDICT:-X-Stream-Bayes:}"
      :0
      * ^X-Stream-Bayes: .*action=quarantine
      $HOME/Maildir/.Junk/

    \b
    For maildrop:
      VERDICT=`stream-bayes classify`
      if ( $VERDICT =~ /action=quarantine/ )
        to "$HOME/Maildir/.Junk"
    """
    for option, is_given in (("--cost", cost is not None), ("--explain", explain)):
        if learn is not None and is_given:
            message = "is for classifying a mail, and --learn does not classify it"
            raise typer.BadParameter(message, param_hint=option)
    path = _default_path() if model is None else model.expanduser()
    try:
        code = _judge(path, kind, cost, explain, as_json) if learn is None else _teach(path, learn, kind, as_json)
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    # An uncaught exception would exit with code 1, which means quarantine.
    except Exception as problem:
        discard_output()
        print_error(f"{reason_of(problem)}; nothing is decided: try again later (code {TEMPORARY_FAILURE})")
        code = TEMPORARY_FAILURE
    raise typer.Exit(code)


def _teach(path: Path, label: MailLabel, kind: FilterKind | None, as_json: bool) -> int:
    mail = _read_mail(_MAX_MAIL_BYTES)
    _check_is_one_mail(mail)
    change = _learn(path, mail, label, kind)
    if as_json:
        _print(json.dumps({"learned": label, "model": str(path), "change": change}))
    return DELIVERED


def _judge(path: Path, kind: FilterKind | None, cost: float | None, explain: bool, as_json: bool) -> int:
    from stream_bayes.kernels.mail.decode import MAX_RAW

    if explain:
        replace_unencodable_output()
    explained = _classify_mail(path, _read_mail(MAX_RAW), kind, cost, explain=explain)
    verdict = explained.verdict
    explanation = explained.explanation
    if as_json:
        reasons = {} if explanation is None else {"explanation": _explanation_to_dict(explanation)}
        _print(json.dumps({**verdict._asdict(), **reasons}))
    else:
        _print("\n".join([_header_line(verdict), *([] if explanation is None else _explanation_lines(explanation))]))
    return QUARANTINED if verdict.action == "quarantine" else DELIVERED


def _explanation_lines(explanation: Explanation) -> list[str]:
    """Format the reasons, without characters that could move others on a terminal."""
    from stream_bayes.mail.render.sanitize import printable

    lines = str(explanation).splitlines()
    return [lines[0], *(f"  {printable(line)}" for line in lines[1:])]


def _explanation_to_dict(explanation: Explanation) -> dict[str, Any]:
    reasons = [
        {"kind": share.kind, "text": share.text, "log_odds": share.log_odds, "spam": share.spam, "mails": share.mails}
        for share in explanation.shares
    ]
    return {"reasons": reasons, "rest": dict(explanation.rest)}


def _print(line: str) -> None:
    if sys.stdout is None:
        message = "there is no standard output"
        raise OSError(message)
    typer.echo(line)
    sys.stdout.flush()


def _default_path() -> Path:
    base = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification says to ignore a relative path.
    folder = Path(base) if base.startswith("/") else Path("~/.local/share").expanduser()
    return folder / "stream_bayes" / "spam.model"


def _read_mail(size: int) -> bytes:
    """Read the beginning of the mail; the rest is read and dropped, since the writer may fail on a closed pipe."""
    if sys.stdin is None:
        message = "there is no standard input"
        raise OSError(message)
    if sys.stdin.isatty():
        print_error("type or paste the mail, then press Ctrl-D")
    raw = sys.stdin.buffer.read(size)
    while sys.stdin.buffer.read(_CHUNK_BYTES):
        pass
    return raw


def _check_is_one_mail(raw: bytes) -> None:
    if not raw.strip():
        message = "there is no mail on standard input"
        raise typer.BadParameter(message, param_hint="--learn")
    if raw.startswith(b"From ") and (others := len(_NEXT_MAIL.findall(raw))):
        message = (
            f"takes one mail, and this is an mbox of {others + 1}: write its mails to a log with stream-bayes produce, "
            "which learns them with stream-bayes run"
        )
        raise typer.BadParameter(message, param_hint="--learn")


def _classify_mail(
    path: Path, raw: bytes, kind: FilterKind | None, cost: float | None, *, explain: bool
) -> ExplainedVerdict:
    from stream_bayes.decisions import spam_losses

    if not path.exists():
        message = f"there is no model at {path}; to make one: stream-bayes classify --learn spam --model FILE < MAIL"
        raise FileNotFoundError(message)
    model = _load(path)
    _warn_of_other_kind(path, model, kind)
    losses = spam_losses(model.false_positive_cost, model.false_negative_cost) if cost is None else spam_losses(cost)
    prediction = model.predictive_many([raw])
    ham, spam = prediction.probabilities[0].tolist()
    action = losses.bayes_action({"ham": ham, "spam": spam}).action
    label = MailLabel.SPAM if spam > ham else MailLabel.HAM
    verdict = Verdict(label, spam, float(prediction.spam_log_odds[0]), action)
    return ExplainedVerdict(verdict, model.explain(raw) if explain else None)


def _header_line(verdict: Verdict) -> str:
    """Format the header field: one line of ASCII of at most 78 characters (RFC 5322)."""
    numbers = f"probability={verdict.probability:.4f}; action={verdict.action}; log-odds={verdict.log_odds:.2f}"
    return f"X-Stream-Bayes: {verdict.label}; {numbers}"


def _learn(path: Path, mail: bytes, label: MailLabel, kind: FilterKind | None) -> Change:
    from stream_bayes.kernels.mail.decode import MAX_RAW
    from stream_bayes.mail.filter.learned_mails import save_filter

    if path.is_symlink() and not path.exists():
        message = f"{path} leads to {path.readlink()}, which does not exist"
        raise FileNotFoundError(message)
    path = path.resolve()
    if _is_checkpoint(path):
        message = f"{path} belongs to a worker, which learns from the log: send it a label (stream-bayes send)"
        raise typer.BadParameter(message, param_hint="--learn")
    with _lock_model(path):
        model, learned = _load_or_create(path, kind)
        change = learned.learn(model, mail[:MAX_RAW], mail, spam=label is MailLabel.SPAM)
        if change != "unchanged":
            save_filter(path, model, learned)
    return change


def _load_or_create(path: Path, kind: FilterKind | None) -> tuple[SpamFilter, LearnedMails]:
    from stream_bayes.mail.filter import SpamFilter
    from stream_bayes.mail.filter.learned_mails import LearnedMails, load_filter

    if not path.exists():
        return (SpamFilter.light() if kind is FilterKind.LIGHT else SpamFilter()), LearnedMails()
    model, learned = load_filter(path)
    _warn_of_other_kind(path, model, kind)
    return model, learned


def _load(path: Path) -> MailClassifier:
    """Load the filter of a file or of a checkpoint."""
    from stream_bayes.mail.filter.learned_mails import load_filter

    return _filter_of_checkpoint(path) if _is_checkpoint(path) else load_filter(path)[0]


def _warn_of_other_kind(path: Path, model: MailClassifier, kind: FilterKind | None) -> None:
    """Print a warning if --filter names another kind than that of the model."""
    from stream_bayes.mail.filter.composition import ALL_MEMBERS, LIGHT_MEMBERS

    if kind is not None and model.members != (LIGHT_MEMBERS if kind is FilterKind.LIGHT else ALL_MEMBERS):
        print_error(f"the filter in {path} is not the {kind} one: --filter {kind} changes nothing")


def _is_checkpoint(path: Path) -> bool:
    """Whether a path is a checkpoint or a folder of checkpoints."""
    from stream_bayes.persistence.checkpoint import CHECKPOINT
    from stream_bayes.persistence.snapshot import format_of

    return path.is_dir() or (path.exists() and format_of(path) == CHECKPOINT.format)


def _filter_of_checkpoint(path: Path) -> MailClassifier:
    """Load the filter of a checkpoint, or of the newest one in a folder."""
    from stream_bayes.engine.state import learner_of
    from stream_bayes.errors import SnapshotError
    from stream_bayes.persistence.checkpoint import read_checkpoint

    found = _newest_checkpoint(path) if path.is_dir() else read_checkpoint(path)[1]
    learner = learner_of(found.scalars, found.arrays)
    if not (learner.reads_mail and isinstance(learner, MailClassifier)):
        message = f"{path}: this is the checkpoint of a {type(learner).__name__}, not of a SpamFilter"
        raise SnapshotError(message)
    return learner


def _newest_checkpoint(folder: Path) -> Checkpoint:
    """Return the newest checkpoint; of several partitions, that of the one with the most learned labels.

    What cannot be read below the folder is said, and is the error if there is no other checkpoint.
    """
    from stream_bayes.persistence.checkpoint_store import CheckpointStore, checkpoint_folders

    problems: list[OSError] = []
    below = checkpoint_folders(folder, problems.append)
    labels = {path: _labels_learned(path, problems) for path in below}
    for path in sorted(below, key=lambda path: (-labels[path], path)):
        found = CheckpointStore(path).newest()
        if found is not None:
            for problem in problems:
                print_error(f"{reason_of(problem)}: a checkpoint there is not used")
            return found[1]
    if problems:
        raise problems[0]
    message = f"{folder} is a folder without a checkpoint; `stream-bayes run` writes them"
    raise FileNotFoundError(message)


def _labels_learned(folder: Path, problems: list[OSError]) -> int:
    """Return the labels learned by the newest checkpoint of a partition; -1 if it cannot be read.

    An error of the file system is added to `problems`.
    """
    from stream_bayes.errors import SnapshotError
    from stream_bayes.persistence.checkpoint import CHECKPOINT
    from stream_bayes.persistence.checkpoint_store import CheckpointStore
    from stream_bayes.persistence.snapshot import read_header

    try:
        _, newest = CheckpointStore(folder).checkpoints()[0]
        return int(read_header(newest, CHECKPOINT)["scalars"]["model_version"])
    except FileNotFoundError:
        # A worker has removed it meanwhile.
        return -1
    except OSError as problem:
        problems.append(problem)
        return -1
    except (SnapshotError, IndexError, KeyError, TypeError, ValueError):
        return -1


@contextmanager
def _lock_model(path: Path) -> Iterator[None]:
    """Hold an exclusive lock from reading the model to writing it, so that no concurrent update is lost."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A separate file that is never deleted: the model is replaced, and a deleted lock would exclude no other process.
    with path.with_name(f"{path.name}.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
