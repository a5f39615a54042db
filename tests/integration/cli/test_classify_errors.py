"""`stream-bayes classify` where something is wrong: with the model, with the call, with what it reads and writes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from stream_bayes import BetaBernoulli, LogOddsFusion, SpamFilter
from stream_bayes.learners import Learner
from stream_bayes.persistence import snapshot
from tests.support.classify import COMMAND, HAM, SPAM, Command
from tests.support.commands import ENVIRONMENT, WITHOUT_PRIVILEGES
from tests.support.tiers import short_first
from tests.support.web_checkpoints import write_model
from tests.support.workers import settings_in


def unreadable(path: Path) -> None:
    path.write_bytes(b"no model")


def cut_short(path: Path) -> None:
    SpamFilter(buckets=2**10).save(path)
    path.write_bytes(path.read_bytes()[:-7])


def other_learner(path: Path) -> None:
    BetaBernoulli().save(path)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda _: None, "no model at"),
        (Path.mkdir, "is a folder without a checkpoint"),
        (unreadable, "not a stream_bayes snapshot"),
        (cut_short, "damaged"),
        (other_learner, "not of a SpamFilter"),
    ],
)
def test_temporary_failures_end_with_code_75_and_one_line(
    classify: Command, tmp_path: Path, make: Callable[[Path], None], reason: str
) -> None:
    path = tmp_path / "model"
    make(path)
    code, output, errors = classify(HAM * 1000, "--model", path)
    assert (code, output, errors.count("\n")) == (75, "", 1)
    assert reason in errors
    assert str(path) in errors
    if make is not Path.mkdir and path.exists():
        content = path.read_bytes()
        assert classify(HAM, "--model", path, "--learn", "ham")[0] == 75
        assert path.read_bytes() == content, "a model that cannot be read is not replaced"


def classify_without_privileges(*arguments: str | Path) -> tuple[int, str, str]:
    """The command in a process for which permissions hold."""
    command = [*WITHOUT_PRIVILEGES, *COMMAND, *map(str, arguments)]
    done = subprocess.run(command, input=HAM, env=ENVIRONMENT, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("options", [[], ["--learn", "ham"]])
def test_a_model_that_may_not_be_read_is_a_temporary_failure(tmp_path: Path, options: list[str]) -> None:
    path = tmp_path / "model"
    SpamFilter.light(buckets=2**10).save(path)
    path.chmod(0)
    code, output, errors = classify_without_privileges("--model", path, *options)
    assert (code, output) == (75, "")
    assert errors == f"stream-bayes: Permission denied ({path}); nothing is decided: try again later (code 75)\n"


@pytest.mark.parametrize("above", short_first([1, 0]), ids=["one above", "itself"])
def test_checkpoints_that_may_not_be_read_are_a_temporary_failure(tmp_path: Path, above: int) -> None:
    folder = write_model(settings_in(tmp_path), SpamFilter.light(buckets=2**10)).parent
    folder.chmod(0)
    code, output, errors = classify_without_privileges("--model", (folder, folder.parent)[above])
    folder.chmod(0o700)
    assert (code, output) == (75, "")
    assert errors == f"stream-bayes: Permission denied ({folder}); nothing is decided: try again later (code 75)\n"


def test_a_partition_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    readable = write_model(settings_in(tmp_path), SpamFilter.light(buckets=2**10))
    other = readable.parent.with_name("partition-1")
    other.mkdir(mode=0)
    code, output, errors = classify_without_privileges("--model", other.parent)
    other.chmod(0o700)
    assert (code, errors) == (0, f"stream-bayes: Permission denied ({other}): a checkpoint there is not used\n")
    assert output.startswith("X-Stream-Bayes: ham; ")


@pytest.mark.parametrize("learner", [BetaBernoulli(), LogOddsFusion((BetaBernoulli(),))])
def test_a_checkpoint_of_a_learner_that_reads_no_mail(classify: Command, tmp_path: Path, learner: Learner) -> None:
    path = write_model(settings_in(tmp_path), learner)
    for place in (path, path.parent):
        code, output, errors = classify(HAM, "--model", place)
        assert (code, output, errors.count("\n")) == (75, "", 1)
        message = f"{place}: this is the checkpoint of a {type(learner).__name__}, not of a SpamFilter"
        assert message in errors


def test_a_missing_model_says_how_to_make_one(classify: Command, tmp_path: Path) -> None:
    errors = classify(HAM, "--model", tmp_path / "none")[2]
    assert "stream-bayes classify --learn spam" in errors
    assert not list(tmp_path.iterdir()), "looking makes nothing"


def test_an_unwritable_path_is_an_error(classify: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, output, errors = classify(HAM, "--model", tmp_path / "file" / "model", "--learn", "ham")
    assert (code, output, errors.count("\n")) == (75, "", 1)
    assert str(tmp_path / "file") in errors


def test_a_closed_output_pipe_is_an_error(model: Path) -> None:
    """Python alone would end with code 1, which means quarantine."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, "--model", str(model)],
        input=HAM,
        stdout=write,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        check=False,
    )
    os.close(write)
    assert done.returncode not in (0, 1)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["--learn", "eggs"], ["--filter", "heavy"], ["--nonsense"], ["--cost", "x"]])
def test_a_wrong_call_ends_with_code_2(classify: Command, arguments: list[str]) -> None:
    code, output, errors = classify(HAM, *arguments)
    assert (code, output) == (2, "")
    assert "Usage: stream-bayes classify" in errors


def test_item15_a_damaged_list_of_learned_mails_is_an_error(classify: Command, tmp_path: Path) -> None:
    path = tmp_path / "model"
    model = SpamFilter.light(buckets=2**10)
    state = model.state()
    header = {"class": state.kind, "parameters": state.parameters}
    for broken in ({"learned.digests": np.zeros((2, 16), np.uint8)}, {"learned.labels": np.full(1, 2, np.uint8)}):
        snapshot.write(path, header, {**state.arrays, **broken})
        code, output, errors = classify(HAM, "--model", path)
        assert (code, output, errors.count("\n")) == (75, "", 1)
        assert "learned mails" in errors
        assert str(path) in errors


@pytest.mark.parametrize("cost", ["-1", "0", "nan", "inf"])
def test_an_invalid_cost_is_a_usage_error(classify: Command, model: Path, cost: str) -> None:
    code, output, errors = classify(HAM, "--model", model, "--cost", cost)
    assert (code, output) == (2, "")
    assert "'--cost': must be a number above 0" in errors


def test_a_cost_is_nothing_to_learn(classify: Command, tmp_path: Path) -> None:
    code, output, errors = classify(SPAM, "--model", tmp_path / "model", "--learn", "spam", "--cost", "5")
    assert (code, output) == (2, "")
    assert "--cost" in errors
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("closing", "reason"),
    short_first(
        [
            (">/dev/full", b"No space left on device"),
            ("<&-", b"there is no standard input"),
            (">&-", b"there is no standard output"),
        ]
    ),
)
def test_without_input_or_output_nothing_is_decided(model: Path, closing: str, reason: bytes) -> None:
    command = ["/bin/sh", "-c", f'"$@" {closing}', "sh", *COMMAND, "--model", str(model)]
    done = subprocess.run(command, input=HAM, env=ENVIRONMENT, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (75, b"", 1)
    assert reason in done.stderr


@pytest.mark.parametrize(("options", "expected"), [((), 75), (("--bogus",), 2)])
def test_a_full_disk_under_the_log_quarantines_nothing(tmp_path: Path, options: tuple[str, ...], expected: int) -> None:
    """Python's own code for trouble is 1, which means quarantine."""
    with Path("/dev/full").open("w") as full:
        command = [*COMMAND, "--model", str(tmp_path / "none"), *options]
        ended = subprocess.run(command, input=HAM, stdout=full, stderr=full, env=ENVIRONMENT, check=False)
    assert ended.returncode == expected


def test_a_model_behind_a_link_stays_there(classify: Command, tmp_path: Path) -> None:
    link = tmp_path / "link"
    target = tmp_path / "target"
    link.symlink_to(target)
    assert classify(SPAM, "--model", link, "--learn", "spam")[0] == 75
    assert not target.exists()
    SpamFilter.light().save(target)
    before = target.read_bytes()
    assert classify(SPAM, "--model", link, "--learn", "spam")[0] == 0
    assert link.is_symlink()
    assert target.read_bytes() != before
