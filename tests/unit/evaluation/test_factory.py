"""A filter by the place of its factory, and places where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.factory import open_filter
from stream_bayes.evaluation.filters import MailFilter
from tests.support.commands import Run
from tests.support.corpora import put

MODULES = {
    "half_written": "def make(:\n",
    "half_baked": "1 / 0\n",
    "burnt": "def make():\n    return {}['oven']\n",
    "raw": "make = 7\n",
    "done": "from tests.support.mail_filters import RiverFilter as make\n",
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Modules that can be imported during the test."""
    for name, content in MODULES.items():
        put(tmp_path / f"kitchen_{name}.py", content)
        monkeypatch.delitem(sys.modules, f"kitchen_{name}", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("json:loads", r"json:loads, called without arguments, makes no filter: TypeError: .*missing 1 required"),
        ("builtins:dict", r"made a dict, which is no filter"),
        ("kitchen_half_written:make", r"there is no filter at kitchen_half_written:make: SyntaxError: "),
        ("kitchen_half_baked:make", r"there is no filter at kitchen_half_baked:make: ZeroDivisionError: "),
        ("kitchen_burnt:make", r"makes no filter: KeyError: 'oven'"),
        ("kitchen_raw:make", r"makes no filter: TypeError: 'int' object is not callable"),
        ("kitchen_none:make", r"there is no filter at kitchen_none:make: ModuleNotFoundError: "),
        ("kitchen_done:nothing", r"there is no filter at kitchen_done:nothing: AttributeError: "),
        (":", r"there is no filter at :: ValueError: "),
    ],
)
@pytest.mark.usefixtures("modules")
def test_names_that_are_no_filter_are_refused(place: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        open_filter(place)


@pytest.mark.usefixtures("modules")
def test_a_filter_is_loaded_by_its_name() -> None:
    assert isinstance(open_filter("kitchen_done:make"), MailFilter)


def test_the_command_line_reports_the_error_in_one_line(run: Run, tmp_path: Path) -> None:
    code, output, errors = run("evaluate", put(tmp_path / "c.csv", "label,text\nham,x\n"), "--filter", "json:loads")
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert "json:loads" in errors
