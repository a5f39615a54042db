from __future__ import annotations

import io
import json
import re
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from stream_bayes.cli.evaluate_runs import EvaluationTask, PassRunner, select_filters
from stream_bayes.errors import CorpusError, ParameterError
from stream_bayes.evaluation import baselines
from stream_bayes.evaluation.factory import open_filter
from stream_bayes.evaluation.feedback import FeedbackRegime
from stream_bayes.evaluation.metrics import all_metrics
from stream_bayes.evaluation.protocol import run as run_filter
from stream_bayes.evaluation.protocol import warm_up
from stream_bayes.evaluation.stream import Stream, StreamSource
from stream_bayes.evaluation.tables import comparison_table
from tests.support.mail_filters import RIVER, Command, Talkative, generated_mails, passed


def task(path: Path, feedback: str = "immediate") -> EvaluationTask:
    return EvaluationTask(StreamSource(path), FeedbackRegime(feedback))


def ran(names: Sequence[str], what: EvaluationTask) -> PassRunner:
    """On a screen that is no terminal."""
    passes = PassRunner(names)
    passes.warm_up(what.regime)
    passes.run(what, Console(file=io.StringIO()))
    return passes


def test_all_filters_see_the_same_stream(corpus: Path) -> None:
    names = ("river-naive-bayes", RIVER)
    passes = ran(names, task(corpus, "delayed:5")).done
    assert [done.run.filter_name for done in passes] == ["river-naive-bayes", "river"]
    assert passes[0].run.ids == passes[1].run.ids == [mail.id for mail in generated_mails(300)]
    expected = passed(generated_mails(300), "delayed:5")
    assert passes[1].summary.values == all_metrics(expected.spam, expected.log_odds)
    assert [int(done.run.learned.sum()) for done in passes] == [295, 295]


def test_the_table_has_the_best_first_and_says_what_is_missing(corpus: Path) -> None:
    names = ("tests.support.mail_filters:Contrary", RIVER)
    runs, summaries, _ = zip(*ran(names, task(corpus)).done, strict=True)
    table = comparison_table(runs, summaries, {"bogofilter": "apt-get install bogofilter"}, ["something"])
    assert table.startswith("generated: 300 messages, ")
    rows = [line.split()[:2] for line in table.splitlines()[3:6]]
    best = summaries[1].values[0]
    worst = summaries[0].values[0]
    assert rows == [["filter", "(1-ROCA)%"], ["river", f"{best:.4f}"], ["contrary", f"{worst:.4f}"]]
    assert best == pytest.approx(100 - worst)
    assert "not here: bogofilter (apt-get install bogofilter)\n" in table
    assert table.endswith("note: something")


def test_which_filters_are_compared() -> None:
    here = tuple(baselines.available())
    assert select_filters("default", everything=True) == ("default", "light", *here)
    assert select_filters("mine:Filter", everything=True) == ("default", "light", *here, "mine:Filter")
    assert select_filters("light", everything=False) == ("light",)


def test_ctrl_c_leaves_out_the_filters_that_have_not_begun(corpus: Path) -> None:
    usual = signal.getsignal(signal.SIGINT)
    passes = ran(("tests.support.mail_filters:Interrupted", RIVER), task(corpus))
    assert [done.run.filter_name for done in passes.done] == ["interrupted"]
    assert (passes.done[0].run.stopped, passes.done[0].run.messages) == (True, 256)
    assert passes.stopped
    assert signal.getsignal(signal.SIGINT) is usual


def test_a_pass_that_was_ended_comes_last_with_its_count(corpus: Path) -> None:
    passes = ran(("tests.support.mail_filters:Contrary", "tests.support.mail_filters:Interrupted"), task(corpus))
    runs, summaries, _ = zip(*passes.done, strict=True)
    assert summaries[1].values[0] < summaries[0].values[0]
    table = comparison_table(runs, summaries, {}, passes.notes())
    assert table.startswith("generated: 300 messages, ")
    rows = [line.strip().partition("  ")[0] for line in table.splitlines()[3:6]]
    assert rows == ["filter", "contrary", "interrupted, 256 messages"]
    note = "interrupted was stopped before the end of the corpus, after 256 messages: its figures are those so far"
    assert table.endswith(f"  note: {note}")


@pytest.mark.parametrize(("name", "reason"), [("Failing", "out of luck"), ("FailingAtOnce", "No space left on device")])
def test_a_filter_that_fails_does_not_take_the_others_with_it(corpus: Path, name: str, reason: str) -> None:
    failing = f"tests.support.mail_filters:{name}"
    passes = ran((failing, RIVER), task(corpus))
    assert [done.run.messages for done in passes.done] == [300]
    assert list(passes.failed) == [failing]
    assert f"{failing} failed and is left out: {reason}" in passes.notes()[-1]
    with pytest.raises((RuntimeError, OSError), match=reason):
        ran((failing,), task(corpus))


def test_errors_of_the_corpus_or_the_name_are_no_failures_of_a_filter(tmp_path: Path, corpus: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text("{}\n")
    with pytest.raises(CorpusError):
        ran((RIVER, "tests.support.mail_filters:Contrary"), task(path))
    with pytest.raises(ParameterError, match="there is no filter"):
        ran((RIVER, "nobody"), task(corpus))


@pytest.mark.slow
def test_peak_memory_is_that_of_the_pass(corpus: Path) -> None:
    first, second = (
        done.run.peak_memory_mb for done in ran(("tests.support.mail_filters:Large", RIVER), task(corpus)).done
    )
    assert first > second + 200.0


def test_a_warm_up_closes_what_it_has_opened(capsys: pytest.CaptureFixture[str]) -> None:
    warm_up(Talkative)
    assert capsys.readouterr().out == "3 mails\nclosed\n"


@pytest.mark.long
def test_one_table_of_ours_and_the_peers(evaluate: Command, corpus: Path) -> None:
    code, output, _ = evaluate(corpus, "--compare", "--limit", "100")
    assert code == 0
    names = ["default", "light", *baselines.available()]
    assert sorted(re.findall(r"^  (\S+) +[0-9.]+ +[0-9.]+ to", output, re.MULTILINE)) == sorted(names)
    found = json.loads(evaluate(corpus, "--compare", "--limit", "100", "--json")[1])
    assert [one["filter"] for one in found["filters"]] == names
    assert {one["messages"] for one in found["filters"]} == {100}
    assert (found["missing"], found["failed"]) == (baselines.missing(), {})


@pytest.mark.parametrize("name", ["default", "light"])
def test_our_filter_shows_its_members(evaluate: Command, corpus: Path, name: str) -> None:
    code, output, _ = evaluate(corpus, "--filter", name, "--per-member", "--feedback", "first:200")
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
        run_filter(partial(open_filter, "default"), Stream("generated", mails), feedback=regime, chunk=chunk)
        for chunk in (7, 60)
    )
    assert np.array_equal(small.log_odds, large.log_odds), "bit for bit"
    assert small.members.keys() == large.members.keys()
    assert all(np.array_equal(small.members[name], large.members[name]) for name in small.members)
