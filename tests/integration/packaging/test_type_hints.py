"""The types of the installed package, as a user's type checker sees them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.installations import ROOT, build_wheel

PROGRAM = """\
from pathlib import Path

from stream_bayes import BayesianLinearRegression, BernoulliNB, Beta, LabelBudget, LabelSelector, SpamFilter
from stream_bayes.errors import StreamBayesError

model = BernoulliNB(prior=Beta(1, 1))
model.learn_one({"cheap": 1, "pills": 1}, "spam")
reveal_type(model.predict_proba_one({"cheap": 1}))
reveal_type(model.predictive_one({"cheap": 1}))
reveal_type(Beta(2, 2).update_counts(75, 60))
reveal_type(Beta(2, 2).mean)
reveal_type(BayesianLinearRegression().predict_one({"a": 1.0}))

guard = SpamFilter(buckets=2**12)
reveal_type(guard)
reveal_type(guard.predict_proba_one(b"Subject: hello"))
reveal_type(guard.decide_one(b"Subject: hello"))
reveal_type(guard.predictive_many([b"Subject: hello"]).probabilities)
reveal_type(SpamFilter.load(Path("model")))
reveal_type(LabelSelector("epistemic", LabelBudget(total=500)))
reveal_type(StreamBayesError("reason").code)
"""
# A mistake that only a package with types shows.
MISTAKE = """\
from stream_bayes import Beta

Beta("two", 2)
"""
REVEALED = re.compile(r'Revealed type is "(.*)"')


@pytest.fixture(scope="module")
def environment_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment in which the wheel is installed, beside the packages of this one."""
    folder = tmp_path_factory.mktemp("typed")
    venv.create(folder / "environment", with_pip=False, symlinks=True)
    (site,) = (folder / "environment").glob("lib/python*/site-packages")
    with zipfile.ZipFile(build_wheel(folder / "dist")) as wheel:
        wheel.extractall(site)
    # The dependencies, which mypy looks for in the environment too.
    others = [path for path in map(Path, sys.path) if path.name == "site-packages"]
    for path in (path for place in others for path in place.iterdir()):
        if not path.name.endswith(".pth") and not (site / path.name).exists() and "stream_bayes" not in path.name:
            (site / path.name).symlink_to(path)
    return folder / "environment" / "bin" / "python"


def type_check(python: Path, folder: Path, program: str) -> tuple[int, str]:
    """The exit code and the output of a strict check of a program outside this repository."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "MYPYPATH"}}
    options = [
        "--strict",
        "--config-file=",
        "--python-executable",
        str(python),
        "--cache-dir",
        str(python.parents[2] / "cache"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "program.py"],
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_item16_a_program_sees_the_types_of_the_installed_wheel(environment_python: Path, tmp_path: Path) -> None:
    code, output = type_check(environment_python, tmp_path, PROGRAM)
    assert code == 0, output
    revealed = REVEALED.findall(output)
    assert len(revealed) == PROGRAM.count("reveal_type(")
    assert "Any" not in revealed, output
    assert "stream_bayes.mail.filter.spam_filter.SpamFilter" in revealed
    assert "stream_bayes.posteriors.counts.Beta" in "".join(revealed)


@pytest.mark.long
def test_item16_a_program_with_a_type_error_is_rejected(environment_python: Path, tmp_path: Path) -> None:
    code, output = type_check(environment_python, tmp_path, MISTAKE)
    assert code == 1
    assert 'program.py:3: error: Argument 1 to "Beta" has incompatible type "str"' in output


def test_item16_the_marker_is_in_the_source_distribution(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {Path(*Path(name).parts[1:]).as_posix() for name in archive.getnames()}
    assert "stream_bayes/py.typed" in names
