from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stream_bayes import __version__
from stream_bayes.learners.base.learner import Learner
from stream_bayes.learners.beta_bernoulli import BetaBernoulli
from stream_bayes.learners.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB
from stream_bayes.persistence import snapshot
from stream_bayes.posteriors import Beta
from tests.support.commands import ENVIRONMENT, PATIENCE, Run
from tests.support.tiers import short_each

# Not pydantic: typer itself uses it, where it is installed, to read the options of a command.
HEAVY = ("numba", "numpy", "rich", "river", "safetensors", "scipy")


def loaded_by(arguments: list[str]) -> set[str]:
    """The heavy modules in a process of its own after a command has run."""
    script = (
        "import sys\n"
        "from stream_bayes.cli import main\n"
        f"sys.argv = ['stream-bayes', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', *(name for name in {HEAVY!r} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    short_each(
        [
            ["--help"],
            ["--version"],
            ["demo", "--help"],
            ["inspect"],
            ["demo", "--nonsense"],
            ["evaluate"],
            ["evaluate", "--help"],
            ["corpus", "--help"],
            ["classify", "--help"],
            ["classify", "--learn", "x"],
        ],
        3,
    ),
)
def test_nothing_heavy_is_loaded_before_a_command_runs(arguments: list[str]) -> None:
    assert loaded_by(arguments) == set()


def test_inspect_loads_arrays_but_no_learner(tmp_path: Path) -> None:
    BetaBernoulli().save(tmp_path / "coin")
    assert loaded_by(["inspect", str(tmp_path / "coin")]) == {"numpy"}


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"stream-bayes {__version__}\n", "")


def test_help_names_every_command(run: Run) -> None:
    code, output, _ = run("--help")
    assert code == 0
    for command in ("demo", "classify", "evaluate", "corpus", "inspect"):
        assert re.search(rf"^  {command} +\w.*[^.]\.$", output, re.MULTILINE), "not cut short by ..."


@pytest.mark.parametrize("arguments", [["--nonsense"], ["nonsense"], ["demo", "--seed", "-1"], ["demo", "--seed", "x"]])
def test_a_wrong_call_ends_with_code_2_and_says_what_was_wrong(run: Run, arguments: list[str]) -> None:
    code, output, errors = run(*arguments)
    assert (code, output) == (2, "")
    assert errors.startswith("Usage: stream-bayes ")
    assert next(word for word in arguments if word != "demo") in errors


def test_inspect_describes_a_classifier(run: Run, tmp_path: Path) -> None:
    learner = CategoricalNB(prior_count=0.5, classes=("no", "yes"))
    learner.learn_one({"outlook": "sunny"}, "yes", w=2.5)
    learner.learn_one({"outlook": "rainy"}, "no")
    learner.save(tmp_path / "weather")
    code, output, errors = run("inspect", tmp_path / "weather")
    assert (code, errors) == (0, "")
    assert output.splitlines()[:8] == [
        str(tmp_path / "weather"),
        "  class       CategoricalNB",
        "  parameters  buckets = None",
        "              class_prior_count = 1.0",
        "              classes = ('no', 'yes')",
        "              prior_count = 0.5",
        "  evidence    'no': 1",
        "              'yes': 2.5",
    ]
    assert re.search(r"^ {2}arrays +cells +float64 +2 x 2$", output, re.MULTILINE)


def test_inspect_describes_a_beta_bernoulli(run: Run, tmp_path: Path) -> None:
    learner = BetaBernoulli(on="sender", prior=Beta(2, 0.5), classes=("ham", "spam"))
    for sender, label in (("eve", "spam"), ("bob", "ham"), ("mallory", "spam")):
        learner.learn_one({"sender": sender}, label)
    learner.save(tmp_path / "senders")
    _, output, _ = run("inspect", tmp_path / "senders")
    assert "prior = Beta(2, 0.5)\n" in output
    assert re.search(r"'ham': 1\n +'spam': 2\n", output)


@pytest.mark.parametrize("kind", [BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB, BetaBernoulli])
def test_inspect_for_machines_agrees_with_the_file(run: Run, tmp_path: Path, kind: type[Learner]) -> None:
    learner = kind()
    for label in (True, False, True):
        learner.learn_one({"a": 1, "b": 2}, label)  # type: ignore[attr-defined]
    learner.save(tmp_path / "saved")
    code, output, _ = run("inspect", tmp_path / "saved", "--json")
    found = json.loads(output)
    (header, arrays) = snapshot.read(tmp_path / "saved")
    assert code == 0
    assert (found["class"], found["parameters"].keys()) == (kind.__name__, header["parameters"].keys())
    assert "tuple" not in json.dumps(found["parameters"]), "lists, not how a snapshot tells tuples from them"
    assert {entry["label"]: entry["evidence"] for entry in found["labels"]} == {True: 2.0, False: 1.0}
    assert found["arrays"] == {
        name: {"dtype": str(array.dtype), "shape": list(array.shape)} for name, array in arrays.items()
    }


def write_text(path: Path) -> None:
    path.write_text("no snapshot at all")


def write_cut_short(path: Path) -> None:
    CategoricalNB(classes=("no", "yes")).save(path)
    path.write_bytes(path.read_bytes()[:-5])


def write_other_header(path: Path) -> None:
    snapshot.write(path, {"something": "else"}, {})


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda _: None, "no such file"),
        (Path.mkdir, "has no intact checkpoint"),
        (Path.touch, "not a stream_bayes snapshot"),
        (write_text, "not a stream_bayes snapshot"),
        (write_cut_short, "cut short or damaged"),
        (write_other_header, "does not describe a learner"),
    ],
)
def test_a_file_that_cannot_be_inspected_gets_one_line(
    run: Run, tmp_path: Path, make: Callable[[Path], None], problem: str
) -> None:
    make(tmp_path / "file")
    code, output, errors = run("inspect", tmp_path / "file")
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith("stream-bayes: ")
    assert problem in errors
    assert str(tmp_path / "file") in errors
