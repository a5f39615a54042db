from __future__ import annotations

import io
import json
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from stream_bayes.cli.passes import Task, chosen_filters, run_passes, warm_up
from stream_bayes.evaluate import peers
from stream_bayes.evaluate.metrics import all_metrics
from stream_bayes.evaluate.opening import open_filter
from stream_bayes.evaluate.order import Stream
from stream_bayes.evaluate.protocol import run
from stream_bayes.evaluate.tables import comparison_table
from tests.filters import generated_mails
from tests.test_evaluate import RIVER, Command, evaluate, passed, write

__all__ = ["evaluate"]


def task(path: Path, feedback: str = "immediate") -> Task:
    return Task(path, "", "stop", None, None, feedback, 0.5)


def plain() -> Console:
    """A screen that is no terminal."""
    return Console(file=io.StringIO())


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write(tmp_path / "generated.jsonl.gz", generated_mails(300))


def test_all_filters_see_the_same_stream(corpus: Path) -> None:
    names = ("river-naive-bayes", RIVER)
    passes = run_passes(names, task(corpus, "delayed:5"), plain())
    assert [done.run.filter_name for done in passes] == ["river-naive-bayes", "river"]
    assert passes[0].run.ids == passes[1].run.ids == [mail.id for mail in generated_mails(300)]
    expected = passed(generated_mails(300), "delayed:5")
    assert passes[1].summary.values == all_metrics(expected.spam, expected.log_odds)
    assert [int(done.run.learned.sum()) for done in passes] == [295, 295]


def test_the_table_has_the_best_first_and_says_what_is_missing(corpus: Path) -> None:
    names = ("tests.filters:Contrary", RIVER)
    runs, summaries, _ = zip(*run_passes(names, task(corpus), plain()), strict=True)
    table = comparison_table(runs, summaries, {"bogofilter": "apt-get install bogofilter"}, ["something"])
    assert table.startswith("generated: 300 messages, ")
    rows = [line.split()[:2] for line in table.splitlines()[3:6]]
    best, worst = summaries[1].values[0], summaries[0].values[0]
    assert rows == [["filter", "(1-ROCA)%"], ["river", f"{best:.4f}"], ["contrary", f"{worst:.4f}"]]
    assert best == pytest.approx(100 - worst)
    assert "not here: bogofilter (apt-get install bogofilter)\n" in table
    assert table.endswith("note: something")


def test_which_filters_are_compared() -> None:
    here = tuple(peers.available())
    assert chosen_filters("default", everything=True) == ("default", "light", *here)
    assert chosen_filters("mine:Filter", everything=True) == ("default", "light", *here, "mine:Filter")
    assert chosen_filters("light", everything=False) == ("light",)


def test_ctrl_c_leaves_out_the_filters_that_have_not_begun(corpus: Path) -> None:
    usual = signal.getsignal(signal.SIGINT)
    passes = run_passes(("tests.filters:Interrupted", RIVER), task(corpus), plain())
    assert [done.run.filter_name for done in passes] == ["interrupted"]
    assert (passes[0].run.stopped, passes[0].run.messages) == (True, 256)
    assert signal.getsignal(signal.SIGINT) is usual


def test_a_warm_up_closes_what_it_has_opened(capsys: pytest.CaptureFixture[str]) -> None:
    warm_up("tests.filters:Talkative")
    assert capsys.readouterr().out == "3 mails\nclosed\n"


def test_one_table_of_ours_and_the_peers(evaluate: Command, corpus: Path) -> None:
    code, output, _ = evaluate(corpus, "--compare", "--limit", "100")
    assert code == 0
    names = ["default", "light", *peers.available()]
    assert sorted(re.findall(r"^  (\S+) +[0-9.]+ +[0-9.]+ to", output, re.MULTILINE)) == sorted(names)
    found = json.loads(evaluate(corpus, "--compare", "--limit", "100", "--json")[1])
    assert [one["filter"] for one in found["filters"]] == names
    assert {one["messages"] for one in found["filters"]} == {100}
    assert found["missing"] == peers.missing()


@pytest.mark.parametrize("name", ["default", "light"])
def test_our_filter_shows_its_members(evaluate: Command, corpus: Path, name: str) -> None:
    code, output, _ = evaluate(corpus, "--filter", name, "--members", "--feedback", "first:200")
    assert code == 0
    assert re.search(r"the fusion is .* its best member, \w+", output)
    found = json.loads(evaluate(corpus, "--filter", name, "--feedback", "first:200", "--json")[1])
    assert found["filter"] == name
    for member, area in found["members_one_minus_roca_percent"].items():
        assert re.search(rf"^ +{re.escape(member)} +{area:.4f}$", output, re.MULTILINE)


@pytest.mark.parametrize("regime", ["immediate", "delayed:7", "partial:0.5"])
def test_chunks_change_nothing_for_our_filter(regime: str) -> None:
    mails = generated_mails(60)
    small, large = (
        run(open_filter("default"), Stream("generated", mails), feedback=regime, chunk=chunk) for chunk in (7, 60)
    )
    assert np.array_equal(small.log_odds, large.log_odds), "bit for bit"
    assert small.members.keys() == large.members.keys()
    assert all(np.array_equal(small.members[name], large.members[name]) for name in small.members)
