from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from stream_bayes.evaluation.metrics import all_metrics, one_minus_roca_percent, summarise
from stream_bayes.evaluation.tables import pass_table
from tests.support.corpora import as_class_mboxes
from tests.support.mail_filters import RIVER, Command, generated_mails, passed, write

KEYS = {
    *("messages", "spam", "one_minus_roca_percent", "ham_error_percent", "spam_error_percent", "lam_percent"),
    *("spam_error_at_ham_0_1_percent", "log_loss", "brier", "calibration_error", "labels_used"),
    *("messages_per_second", "cpu_microseconds_per_message", "peak_memory_mb"),
}


@pytest.mark.slow
@pytest.mark.parametrize("feedback", ["immediate", "delayed:20", "first:100", "partial:0.5"])
def test_json_has_the_figures_of_the_pass(evaluate: Command, corpus: Path, feedback: str) -> None:
    code, output, errors = evaluate(corpus, "--filter", RIVER, "--feedback", feedback, "--json")
    assert (code, errors) == (0, "")
    found = json.loads(output)
    expected = passed(generated_mails(300), feedback)
    assert set(found) >= KEYS
    for name, value in all_metrics(expected.spam, expected.log_odds)._asdict().items():
        assert found[name] == pytest.approx(value, rel=1e-12)
        low, high = found["intervals"][name]
        assert low <= value <= high
    assert (found["messages"], found["spam"]) == (300, int(expected.spam.sum()))
    assert found["labels_used"] == {"immediate": 300, "delayed:20": 280, "first:100": 100}.get(
        feedback, int(expected.learned.sum())
    )
    assert (found["filter"], found["corpus"], found["feedback"]) == ("river", "generated", feedback)
    assert found["members_one_minus_roca_percent"]["negative"] == pytest.approx(100 - found["one_minus_roca_percent"])
    assert found["cpu_microseconds_per_message"] > 0.0
    assert list(found["stages"]) == ["make", "read", "features", "predict and learn"]


def test_shuffle_limit_and_prefix(evaluate: Command, tmp_path: Path) -> None:
    mails = [mail._replace(id=f"{'ab'[place % 2]}/{place}") for place, mail in enumerate(generated_mails(200))]
    path = write(tmp_path / "two.jsonl.gz", mails)
    options = ("--prefix", "b/", "--shuffle", "7", "--limit", "60", "--filter", RIVER, "--json")
    found = json.loads(evaluate(path, *options)[1])
    kept = mails[1::2]
    expected = passed([kept[place] for place in np.random.default_rng(7).permutation(100)[:60]])
    assert found["messages"] == 60
    assert found["log_loss"] == all_metrics(expected.spam, expected.log_odds).log_loss


def test_the_order_of_mailboxes_of_one_class_each_is_noted(evaluate: Command, tmp_path: Path) -> None:
    mails = [mail._replace(raw=mail.raw + b"\n") for mail in generated_mails(300)]
    path = as_class_mboxes(tmp_path / "c", mails)
    found = json.loads(evaluate(path, "--filter", RIVER, "--json")[1])
    assert found["order"] == "mixed"
    assert found["notes"] == ["the messages came with the classes mixed evenly"]
    found = json.loads(evaluate(path, "--filter", RIVER, "--order", "stored", "--json")[1])
    assert found["order"] == "stored"
    assert [note.partition(":")[0].partition(" messages")[2] for note in found["notes"]] == [
        " with a label are all ham"
    ]
    code, _, errors = evaluate(path, "--filter", RIVER, "--order", "time", "--shuffle", "1")
    assert (code, errors) == (2, "stream-bayes: --order time cannot be combined with --shuffle or --interleave\n")


def test_the_table_for_people(evaluate: Command, corpus: Path) -> None:
    code, output, errors = evaluate(corpus, "--filter", RIVER, "--feedback", "first:50")
    expected = passed(generated_mails(300), "first:50")
    summary = summarise(expected.spam, expected.log_odds)
    assert (code, errors) == (0, "")
    assert output.startswith(f"generated: 300 messages, {summary.spam} spam ({summary.spam / 3:.1f} %)\n")
    assert "filter river, feedback first:50, 50 labels learned\n" in output
    value = summary.values[0]
    low = summary.low[0]
    high = summary.high[0]
    assert re.search(rf"^ +\(1-ROCA\)% +{value:.4f} +{low:.4f} to {high:.4f}$", output, re.MULTILINE)
    for name in ("ham mis", "spam mis", "lam %", "spam lost at 0.1 %", "log loss", "Brier", "calibration error"):
        assert name in output
    assert re.search(r"^ +predict and learn +[0-9.]+ +[0-9.]+$", output, re.MULTILINE)
    assert re.search(r"^ +make the filter, ms, once +[0-9.]+ +[0-9.]+$", output, re.MULTILINE)
    assert re.search(r"^ +peak memory, MB +[0-9]+ +[+-][0-9]+ after the first tenth$", output, re.MULTILINE)
    assert "half" not in output


def test_members_and_how_far_the_fusion_is_from_the_best(evaluate: Command, corpus: Path) -> None:
    output = evaluate(corpus, "--filter", RIVER, "--per-member")[1]
    expected = passed(generated_mails(300))
    area = one_minus_roca_percent(expected.spam, expected.log_odds)
    assert re.search(rf"^ +half +{area:.4f}\n +negative +{100 - area:.4f}$", output, re.MULTILINE)
    assert "level with its best member, half" in output


@pytest.mark.parametrize(
    ("better", "words"), [(2.0, "behind its best member, better"), (-2.0, "ahead of its best member, better")]
)
def test_the_fusion_beside_its_best_member(better: float, words: str) -> None:
    done = passed(generated_mails(300))
    done.members.clear()
    done.members["better"] = done.log_odds + better * done.spam
    shown = pass_table(done, summarise(done.spam, done.log_odds, replicates=2), per_member=True)
    area, own = (one_minus_roca_percent(done.spam, scores) for scores in (done.members["better"], done.log_odds))
    assert f"the fusion is {100 * abs(own / area - 1):.1f} % {words}" in shown


@pytest.mark.parametrize(("label", "absent"), [("ham", "spam"), ("spam", "ham")])
def test_one_class_only(evaluate: Command, tmp_path: Path, label: str, absent: str) -> None:
    path = write(tmp_path / "one.jsonl.gz", [mail._replace(label=label) for mail in generated_mails(40)])
    code, output, _ = evaluate(path, "--filter", RIVER, "--per-member")
    assert code == 0
    assert re.search(r"^ +\(1-ROCA\)% +- +-$", output, re.MULTILINE)
    assert f"note: no {absent} came" in output
    found = json.loads(evaluate(path, "--filter", RIVER, "--json")[1])
    assert found["one_minus_roca_percent"] is found["lam_percent"] is found[f"{absent}_error_percent"] is None
    assert found["intervals"]["lam_percent"] == [None, None]
    assert found[f"{label}_error_percent"] >= 0.0
    assert math.isfinite(found["log_loss"])


def test_nothing_to_evaluate(evaluate: Command, tmp_path: Path) -> None:
    path = write(tmp_path / "none.jsonl.gz", generated_mails(40, unlabelled=1))
    code, output, _ = evaluate(path, "--filter", RIVER, "--json")
    found = json.loads(output)
    assert (code, found["messages"], found["log_loss"], found["unlabelled"]) == (0, 0, None, 40)
    code, output, _ = evaluate(path, "--filter", RIVER, "--per-member")
    assert code == 0
    assert "no messages with a label" in output


@pytest.mark.parametrize("kept", [29, 30])
def test_few_messages_of_a_class_get_a_note(evaluate: Command, tmp_path: Path, kept: int) -> None:
    mails = generated_mails(300)
    few = [mail for mail in mails if mail.label == "ham"][:kept] + [mail for mail in mails if mail.label == "spam"][:50]
    output = evaluate(write(tmp_path / "few.jsonl.gz", few), "--filter", RIVER)[1]
    note = f"note: only {kept} ham and 50 spam came: with fewer than 30 of either, chance decides much"
    assert (note in output) == (kept == 29)


def test_one_message_is_one_message(evaluate: Command, tmp_path: Path) -> None:
    path = write(tmp_path / "one.jsonl.gz", [generated_mails(1)[0], generated_mails(2)[1]._replace(label=None)])
    output = evaluate(path, "--filter", RIVER)[1]
    assert output.startswith("one: 1 message, ")
    assert "feedback immediate, 1 label learned\n" in output
    assert "note: 1 message without a label: scored, but not evaluated" in output


def test_messages_without_a_label_are_counted(evaluate: Command, tmp_path: Path) -> None:
    path = write(tmp_path / "some.jsonl.gz", generated_mails(90, unlabelled=3))
    found = json.loads(evaluate(path, "--filter", RIVER, "--json")[1])
    assert (found["messages"], found["unlabelled"], found["labels_used"]) == (60, 30, 60)
    assert "30 messages without a label: scored, but not evaluated" in evaluate(path, "--filter", RIVER)[1]


def test_another_threshold(evaluate: Command, corpus: Path) -> None:
    found = json.loads(evaluate(corpus, "--filter", RIVER, "--threshold", "0.9", "--json")[1])
    done = passed(generated_mails(300))
    assert found["threshold"] == 0.9
    assert found["ham_error_percent"] == all_metrics(done.spam, done.log_odds, threshold=0.9).ham_error_percent
