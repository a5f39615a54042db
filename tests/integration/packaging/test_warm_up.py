"""`stream-bayes warm-up`: afterwards a worker, `classify`, `evaluate` and the page compile nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_bayes import SpamFilter
from tests.support.commands import Run
from tests.support.installations import own_folder, run_as_service

# A warm-up compiles all kernels of the filter once more.
pytestmark = pytest.mark.long

SPAM = b"From: win@prizes.example\nSubject: You have won cash\n\nClick http://prizes.example/cash now!\n"
COMMAND = ["-m", "stream_bayes.cli"]
# The command as the entry point runs it, then how many kernels it had to compile.
COUNTED = """
import sys
from stream_bayes.cli import main
from stream_bayes.kernels.common.jit_stats import compiled_kernels
try:
    main()
finally:
    print("compiled", compiled_kernels(), file=sys.stderr)
"""
# What the page does with a checkpoint.
PAGE = """
import sys
from pathlib import Path
from stream_bayes.config import Settings
from stream_bayes.events import Observation
from stream_bayes.kernels.common.jit_stats import compiled_kernels
from stream_bayes.web.services.model_cache import ModelCache
folder = Path(sys.argv[1])
models = ModelCache(Settings(log=f"sqlite:///{folder}/log.db", checkpoint={"folder": folder / "checkpoints"}))
models.predict(Observation(id="a", text="cheap pills"))
for kind, text in (("word", "cheap"), ("sender", "ann@example.org"), ("weight", "gram counts")):
    models.posterior(kind, text)
print("compiled", compiled_kernels(), file=sys.stderr)
"""


class Machine:
    """A read-only installation on which a user without a home has run the warm-up once."""

    def __init__(self, site: Path, folder: Path) -> None:
        self.site = site
        self.folder = folder
        self.environment = {"TMPDIR": str(folder)}
        done = run_as_service(site, [*COMMAND, "warm-up", "--json"], self.environment)
        self.code = done.returncode
        self.found = json.loads(done.stdout)
        self.errors = done.stderr.decode()

    def run(self, script: str, *arguments: str | Path, mail: bytes = b"") -> tuple[int, str]:
        """The exit code and the output of a command that compiled nothing and wrote no cache file."""
        before = self.cache_files()
        done = run_as_service(self.site, ["-c", script, *map(str, arguments)], self.environment, input=mail)
        assert done.stderr.decode().splitlines()[-1:] == ["compiled 0"], done.stderr.decode()
        assert b"compiling" not in done.stderr
        assert self.cache_files() == before
        return done.returncode, done.stdout.decode()

    def cache_files(self) -> dict[Path, int]:
        """Files of compiled kernels, with the time when each was written."""
        found = [path for path in self.folder.rglob("*") if path.suffix in {".nbi", ".nbc"}]
        return {path: path.stat().st_mtime_ns for path in found}


@pytest.fixture(scope="module")
def machine(installation: Path, open_folder: Path) -> Machine:
    return Machine(installation, own_folder(open_folder / "temporary"))


@pytest.fixture(scope="module")
def work_folder(machine: Machine) -> Path:
    return own_folder(machine.folder.parent / "work")


def test_item14_warm_up_compiles_and_names_the_cache_folder(machine: Machine) -> None:
    assert machine.code == 0, machine.errors
    steps = machine.found["steps"]
    assert [step["name"] for step in steps] == ["classify", "worker", "evaluate", "page"]
    assert steps[0]["compiled"] > 50
    assert machine.found["compiled"] == sum(step["compiled"] for step in steps)
    assert Path(machine.found["folder"]).is_relative_to(machine.folder)
    assert machine.cache_files()


def test_item14_the_notice_of_compilation_is_on_stderr(machine: Machine) -> None:
    """One line, which names kernels and the folder; compiling all of them takes far more than two seconds."""
    assert machine.errors.count("\n") == 1
    assert machine.errors.startswith("stream-bayes: compiling kernels for their first use (")
    assert machine.found["folder"] in machine.errors


def test_item13_classify_as_a_user_without_a_home_answers(machine: Machine, work_folder: Path) -> None:
    """The installation is read-only and there is no folder but a temporary one: the code is no 75."""
    model = work_folder / "model"
    assert machine.run(COUNTED, "classify", "--learn", "spam", "--model", model, mail=SPAM) == (0, "")
    code, output = machine.run(COUNTED, "classify", "--model", model, mail=SPAM)
    assert code in (0, 1)
    assert output.startswith("X-Stream-Bayes: spam; probability=")


def test_item14_a_worker_and_its_page_compile_nothing_after_a_warm_up(machine: Machine, work_folder: Path) -> None:
    log = f"sqlite:///{work_folder}/log.db"
    lines = [{"id": str(n), "text": f"cheap pills {n}", "label": ("ham", "spam")[n % 2]} for n in range(4)]
    content = "".join(f"{json.dumps(line)}\n" for line in lines)
    assert machine.run(COUNTED, "send", "observations", "--log", log, mail=content.encode())[0] == 0
    options = ("--log", log, "--checkpoints", work_folder / "checkpoints")
    assert machine.run(COUNTED, "run", "--drain", *options)[0] == 0
    assert machine.run(PAGE, work_folder)[0] == 0


def test_item14_evaluate_compiles_nothing_after_a_warm_up(machine: Machine, open_folder: Path) -> None:
    corpus = open_folder / "corpus.jsonl"
    lines = [{"id": str(n), "label": ("ham", "spam")[n % 2], "text": f"Subject: {n}\n\nword{n % 2}"} for n in range(20)]
    corpus.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for options in (["--feedback", "active:5"], ["--filter", "light", "--feedback", "active:5"]):
        assert machine.run(COUNTED, "evaluate", corpus, "--json", *options)[0] == 0


def test_item14_a_second_warm_up_has_nothing_to_do(machine: Machine) -> None:
    code, output = machine.run(COUNTED, "warm-up")
    assert code == 0
    assert "compiled" not in output
    assert output.endswith(f"kept in {machine.found['folder']}\n")


def test_item14_warm_up_takes_the_learner_of_the_settings(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('[learner]\nname = "MultinomialNB"\n', encoding="utf-8")
    code, output, _ = run("warm-up", "--config", config)
    assert code == 0
    assert "worker with MultinomialNB: " in output
    assert "page with MultinomialNB: " in output


def test_the_filters_of_the_warm_up_are_those_that_are_used() -> None:
    """Small tables have the same types as large ones."""
    small = SpamFilter(buckets=2**10).state().arrays
    large = SpamFilter().state().arrays
    assert {name: array.dtype for name, array in small.items()} == {name: array.dtype for name, array in large.items()}
