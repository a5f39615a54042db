"""The notebook runs from top to bottom, and its cells show the cards and figures that scipy and a pencil agree with."""

from __future__ import annotations

import os
import re
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from scipy import stats

from tests.support.examples import ROOT, numbers

NOTEBOOK = ROOT / "examples" / "tour.ipynb"
# It has no annotations.
read_notebook: Any = nbformat.read


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook after a run in a kernel of its own."""
    notebook = read_notebook(NOTEBOOK, as_version=4)
    folder = tmp_path_factory.mktemp("notebook")
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", paths)
        # Else IPython and Jupyter write to the home of whoever runs the tests.
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
        client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}})
        return client.execute()


def outputs_of(notebook: Any, code: str) -> list[Any]:
    """The outputs of the only cell with this code in it."""
    (cell,) = [cell for cell in notebook.cells if cell.cell_type == "code" and code in cell.source]
    return list(cell.outputs)


def text_of(notebook: Any, code: str) -> str:
    return "".join(output.text for output in outputs_of(notebook, code) if output.output_type == "stream")


def card_of(notebook: Any, code: str) -> str:
    """The text of the card that a cell shows."""
    (html,) = [
        output.data["text/html"] for output in outputs_of(notebook, code) if "text/html" in output.get("data", {})
    ]
    return re.sub(r"\s*(?:<[^>]*>)+\s*", " | ", html)


def test_tour(executed: Any) -> None:
    posterior = card_of(executed, "posterior = Beta(2, 2)")
    belief = stats.beta(77, 62)
    low, high = belief.interval(0.9)
    assert f"mean | {belief.mean():.4g} | 90 % interval | [{low:.4g}, {high:.4g}]" in posterior
    (guesses,) = outputs_of(executed, "bayes_action")
    assert numbers(guesses.data["text/plain"]) == pytest.approx([77 / 139, belief.median(), 76 / 137], abs=5e-5)
    # eve: three spam and one ham; bob: one ham.
    assert "ham: 2, spam: 3 | keys | 2" in card_of(executed, "coins = BetaBernoulli")
    assert f"spam | {4 / 6:.3f} | ham | {2 / 6:.3f}" in card_of(executed, "coins.predictive_one")
    # Of the four events learned one was taken back.
    assert "events | 3 | events of each class | spam: 2, ham: 1" in card_of(executed, "words = BernoulliNB")
    assert "successes | 3 | failures | 1" in card_of(executed, 'words.posterior("cheap", "spam")')


def test_tour_finds_the_line(executed: Any) -> None:
    generator = np.random.default_rng(1)
    design = np.column_stack([np.ones(10), generator.uniform(-1, 1, 10)])
    targets = design @ [-0.3, 0.5] + generator.normal(0, 0.2, 10)
    precision = 2 * np.eye(2) + design.T @ design / 0.04
    mean = np.linalg.solve(precision, design.T @ targets / 0.04)[1]
    low, high = stats.norm(mean, np.sqrt(np.linalg.inv(precision)[1, 1])).interval(0.9)
    assert f"90 % interval | [{low:.4g}, {high:.4g}]" in card_of(executed, 'line.weights()["x"]')
    assert [output for output in outputs_of(executed, "fill_between") if "image/png" in output.get("data", {})]


def test_tour_stays_within_its_budget_and_audits_itself(executed: Any) -> None:
    found = re.search(
        r"requested \| (\d+) of 60 labels \| for the audit \| (\d+) of 15", card_of(executed, "selector =")
    )
    assert found
    requested, audited = map(int, found.groups())
    assert 30 < requested <= 60
    assert f"audit | {audited} of 15" in card_of(executed, "selector.budget")
    (accuracy,) = numbers(text_of(executed, "selector.audit"))
    audit = card_of(executed, "selector.audit")
    found = re.search(r"90 % interval \| \[([\d.]+), ([\d.]+)\] \| audited answers \| (\d+)", audit)
    assert found
    low, high, answers = map(float, found.groups())
    assert low <= accuracy <= high
    assert answers == audited
    assert accuracy > 0.8


def test_tour_filters_mail(executed: Any) -> None:
    lines = text_of(executed, "spam_filter = SpamFilter").splitlines()
    errors = [int(numbers(line)[-1]) for line in lines]
    assert len(errors) == 4
    assert errors[3] < errors[0] / 2
    assert "events | 400" in card_of(executed, "spam_filter = SpamFilter")
    assert "Prediction: spam" in card_of(executed, "spam_filter.predictive_one")
    explanation = text_of(executed, "spam_filter.explain").splitlines()
    assert explanation[0].startswith("log-odds of spam +")
    assert explanation[-1] in ("deliver", "quarantine")


def test_notebook_has_no_outputs_in_the_repository() -> None:
    notebook = read_notebook(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) > 10
    assert [cell.id for cell in cells if cell.outputs or cell.execution_count is not None] == []
