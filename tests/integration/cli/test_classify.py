"""`stream-bayes classify` as a mail server calls it: a process of its own, a mail on its standard input."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from stream_bayes import SpamFilter, Worker
from stream_bayes.config import LearnerSettings, Settings
from stream_bayes.eventlog.factory import open_log
from stream_bayes.kernels.mail.decode import MAX_RAW
from stream_bayes.mail.filter.learned_mails import LearnedMails
from stream_bayes.persistence.checkpoint import read_checkpoint
from tests.support.classify import COMMAND, HAM, SPAM, Command
from tests.support.commands import ENVIRONMENT

PATIENCE = 120.0
LINE = re.compile(
    r"X-Stream-Bayes: (spam|ham); probability=(0\.\d{4}|1\.0000); action=(deliver|quarantine); log-odds=(-?\d+\.\d\d)\n"
)


def processed(mail: bytes, *arguments: str | Path) -> tuple[int, str, str]:
    """The command in a process of its own: code, output, errors."""
    command = [*COMMAND, *map(str, arguments)]
    done = subprocess.run(command, input=mail, env=ENVIRONMENT, capture_output=True, check=False, timeout=PATIENCE)
    return done.returncode, done.stdout.decode("ascii"), done.stderr.decode()


def test_spam_is_quarantined_with_code_1_and_ham_delivered_with_code_0(model: Path) -> None:
    saved = SpamFilter.load(model)
    for mail, label, action, code in ((SPAM, "spam", "quarantine", 1), (HAM, "ham", "deliver", 0)):
        found = processed(mail, "--model", model)
        assert (found[0], found[2]) == (code, "")
        match = LINE.fullmatch(found[1])
        assert match is not None
        assert len(found[1]) <= 79
        assert match.group(1, 3) == (label, action)
        assert float(match[2]) == pytest.approx(saved.predict_proba_one(mail)["spam"], abs=5e-5)
        assert float(match[4]) == pytest.approx(saved.predictive_many([mail]).spam_log_odds[0], abs=5e-3)


def test_the_costs_decide(classify: Command, model: Path) -> None:
    """Quarantine from a probability of cost / (cost + 1) on."""
    assert classify(SPAM, "--model", model, "--cost", "1e12")[0] == 0
    assert classify(HAM, "--model", model, "--cost", "1e-12")[0] == 1
    assert "action=quarantine" in classify(HAM, "--model", model, "--cost", "1e-12")[1]


def test_the_reasons_follow_the_line(classify: Command, model: Path) -> None:
    why = SpamFilter.load(model).explain(SPAM)
    code, output, errors = classify(SPAM, "--model", model, "--explain")
    first, *lines = output.splitlines()
    assert (code, errors) == (1, "")
    assert LINE.fullmatch(f"{first}\n")
    assert [" ".join(line.split()) for line in lines] == [" ".join(line.split()) for line in str(why).splitlines()]
    found = json.loads(classify(SPAM, "--model", model, "--explain", "--json")[1])["explanation"]
    assert [reason["text"] for reason in found["reasons"]] == [share.text for share in why.shares]
    total = sum(reason["log_odds"] for reason in found["reasons"]) + sum(found["rest"].values())
    assert total == pytest.approx(why.log_odds, abs=1e-6)
    code, _, errors = classify(SPAM, "--model", model, "--learn", "spam", "--explain")
    assert (code, "--learn does not classify it" in errors) == (2, True)


def test_characters_that_move_a_terminal_do_not_reach_it(classify: Command, tmp_path: Path) -> None:
    mail = "Subject: \u202egnp.exe \x1b[2J\n\nword\u202eother\n".encode()
    learner = SpamFilter(buckets=2**12)
    learner.test_then_train([mail, HAM] * 5, ["spam", "ham"] * 5)
    learner.save(tmp_path / "m")
    output = classify(mail, "--model", tmp_path / "m", "--explain")[1]
    assert all(line.isprintable() for line in output.splitlines())


def test_for_machines(classify: Command, model: Path) -> None:
    code, output, _ = classify(SPAM, "--model", model, "--json")
    predictions = SpamFilter.load(model).predictive_many([SPAM])
    assert code == 1
    assert json.loads(output) == {
        "label": "spam",
        "probability": predictions.probabilities[0, 1],
        "log_odds": predictions.spam_log_odds[0],
        "action": "quarantine",
    }


def test_learning_for_machines(classify: Command, tmp_path: Path) -> None:
    path = tmp_path / "model"
    code, output, errors = classify(SPAM, "--model", path, "--filter", "light", "--learn", "spam", "--json")
    assert (code, errors) == (0, "")
    assert json.loads(output) == {"learned": "spam", "model": str(path), "change": "learned"}
    assert SpamFilter.load(path).state().arrays["totals"].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("learn", [[], ["--learn", "ham"]])
def test_another_filter_than_that_of_the_file_gets_a_line(classify: Command, tmp_path: Path, learn: list[str]) -> None:
    path = tmp_path / "model"
    SpamFilter.light(buckets=2**10).save(path)
    for options, words in (([], ""), (["--filter", "light"], ""), (["--filter", "default"], "is not the default one")):
        code, _, errors = classify(HAM, "--model", path, *learn, *options)
        assert (code, errors.count("\n")) == (0, bool(words))
        assert words in errors
        assert not words or str(path) in errors
    assert SpamFilter.load(path).members == ("word counts", "word steps")


def test_a_long_mail_is_read_to_its_end_and_judged_by_its_beginning(classify: Command, model: Path) -> None:
    long = SPAM + b"word " * MAX_RAW
    assert len(long) > 5 * MAX_RAW
    assert classify(long * 10, "--model", model) == classify(long[:MAX_RAW], "--model", model)


@pytest.mark.parametrize(
    "mail", [b"", bytes(100), b"\xff\xfe\r\r\n", b"X-Stream-Bayes: ham\nSubject: \x1b[31m\n\n"], ids=repr
)
def test_any_bytes_get_one_line(classify: Command, model: Path, mail: bytes) -> None:
    code, output, errors = classify(mail, "--model", model)
    assert (code, errors) == (0, "")
    assert LINE.fullmatch(output)


def test_classify_learns_like_the_learner(classify: Command, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "filter"
    expected = SpamFilter.light()
    for mail, label in ((SPAM, "spam"), (HAM, "ham"), (SPAM + b"again\n", "spam")):
        assert classify(mail, "--learn", label, "--filter", "light", "--model", path) == (0, "", "")
        expected.learn_one(mail, label)
    found = SpamFilter.load(path)
    assert found.members == ("word counts", "word steps")
    assert found.predict_proba_one(SPAM) == expected.predict_proba_one(SPAM)
    assert {file.name for file in path.parent.iterdir()} == {"filter", "filter.lock"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "there is no mail"),
        (b"\n \n", "there is no mail"),
        (b"From ann@example.org Mon Jun 25 13:11:28 2001\n%sFrom bob@example.org Tue Jun 26 2001\n%s", "an mbox of 2"),
    ],
)
def test_learning_takes_one_mail(classify: Command, tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "spam.model"
    mails = content.replace(b"%s", HAM.rstrip() + b"\n\n")
    code, output, errors = classify(mails, "--learn", "ham", "--filter", "light", "--model", path)
    assert (code, output) == (2, "")
    assert words in " ".join(errors.replace("│", " ").split())
    assert not path.exists()


def learned(classify: Command, path: Path, mail: bytes, label: str) -> str:
    """What `classify --learn` says it has changed."""
    code, output, errors = classify(mail, "--learn", label, "--filter", "light", "--model", path, "--json")
    assert (code, errors) == (0, "")
    return str(json.loads(output)["change"])


def test_item15_another_label_is_a_correction_and_the_same_one_changes_nothing(
    classify: Command, tmp_path: Path
) -> None:
    path = tmp_path / "model"
    expected = SpamFilter.light()
    assert learned(classify, path, SPAM, "ham") == "learned"
    assert learned(classify, path, HAM, "ham") == "learned"
    expected.learn_many([SPAM, HAM], ["ham", "ham"])
    before = path.read_bytes()
    # As it is stored after delivery: with trace fields, the filter's own line, and other line endings.
    stored = b"Received: from a by b\nX-Stream-Bayes: ham; probability=0.1\n" + SPAM
    assert learned(classify, path, stored.replace(b"\n", b"\r\n"), "ham") == "unchanged"
    assert path.read_bytes() == before
    assert learned(classify, path, SPAM, "spam") == "corrected"
    expected.relearn_one(SPAM, "spam")
    assert SpamFilter.load(path).predict_proba_one(SPAM) == expected.predict_proba_one(SPAM)
    assert learned(classify, path, SPAM, "spam") == "unchanged"
    assert learned(classify, path, SPAM, "ham") == "corrected"
    assert {file.name for file in tmp_path.iterdir()} == {"model", "model.lock"}, "one file holds both"


def test_item15_a_long_mail_is_recognised_by_all_of_it(classify: Command, tmp_path: Path) -> None:
    path = tmp_path / "model"
    mail = SPAM + b"word\n" * MAX_RAW
    assert learned(classify, path, mail, "spam") == "learned"
    assert learned(classify, path, b"Received: from a by b\n" + mail, "spam") == "unchanged"
    assert learned(classify, path, mail + b"and another end\n", "spam") == "learned"


def test_item15_the_record_of_learned_mails_is_bounded() -> None:
    record = LearnedMails(capacity=2)
    model = SpamFilter.light(buckets=2**10)
    mails = [b"Subject: %d\n\nhello" % number for number in range(3)]
    assert [record.learn(model, mail, mail, spam=True) for mail in mails] == ["learned"] * 3
    assert len(record) == 2
    record = LearnedMails.from_arrays(record.arrays())
    assert record.learn(model, mails[2], mails[2], spam=True) == "unchanged"
    assert record.learn(model, mails[0], mails[0], spam=True) == "learned"


def test_item15_a_model_that_a_program_saved_has_an_empty_record(classify: Command, tmp_path: Path) -> None:
    path = tmp_path / "model"
    SpamFilter.light(buckets=2**10).save(path)
    assert learned(classify, path, SPAM, "spam") == "learned"
    assert learned(classify, path, SPAM, "spam") == "unchanged"


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoints of a worker that knows both kinds."""
    folder = tmp_path_factory.mktemp("worker")
    learner = {"name": "SpamFilter", "parameters": {"buckets": 2**12}}
    settings = Settings(log=f"sqlite:///{folder}/log.db", learner=LearnerSettings(**learner))  # type: ignore[arg-type]
    inputs = (settings.topics.observations, settings.topics.labels)
    with open_log(settings.log, settings.group, inputs) as log:
        for number in range(40):
            mail = (SPAM, HAM)[number % 2] + b"%d\n" % number
            fields = {"id": str(number), "text": mail.decode(), "label": ("spam", "ham")[number % 2]}
            log.append(inputs[0], json.dumps(fields).encode())
        log.commit({})
        Worker(settings, log).run(drain=True)
    return settings.checkpoint_folder


def test_item15_a_checkpoint_of_a_worker_judges_mails(classify: Command, checkpoints: Path) -> None:
    newest = sorted(checkpoints.rglob("checkpoint-*.safetensors"))[-1]
    header, _ = read_checkpoint(newest)
    assert header > 0
    for path in (newest, newest.parent, checkpoints):
        for mail, label, code in ((SPAM, "spam", 1), (HAM, "ham", 0)):
            found = classify(mail, "--model", path)
            assert (found[0], found[2]) == (code, "")
            assert found[1].startswith(f"X-Stream-Bayes: {label}; ")


def test_item15_a_checkpoint_of_a_worker_is_not_learned_into(classify: Command, checkpoints: Path) -> None:
    newest = sorted(checkpoints.rglob("checkpoint-*.safetensors"))[-1]
    before = newest.read_bytes()
    for path in (newest, checkpoints):
        code, output, errors = classify(SPAM, "--model", path, "--learn", "spam")
        assert (code, output) == (2, "")
        assert "belongs to a worker" in " ".join(errors.split())
    assert newest.read_bytes() == before
    assert not list(checkpoints.rglob("*.lock"))


@pytest.mark.parametrize(
    ("variable", "place"),
    [("XDG_DATA_HOME", "stream_bayes/spam.model"), ("HOME", ".local/share/stream_bayes/spam.model")],
)
def test_a_model_has_its_place(
    classify: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, place: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    monkeypatch.setenv(variable, str(tmp_path))
    assert classify(HAM, "--learn", "ham", "--filter", "light")[0] == 0
    assert SpamFilter.load(tmp_path / place).state().arrays["totals"].tolist() == [1.0, 0.0]
    assert classify(HAM)[0] == 0


def test_processes_that_learn_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model"
    count = 4
    command = [*COMMAND, "--model", str(path), "--filter", "light", "--learn"]
    running = [
        subprocess.Popen(
            [*command, ("ham", "spam")[n % 2]], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
        )
        for n in range(count)
    ]
    # All of them have started before the first gets its mail.
    for number, process in enumerate(running):
        assert process.stdin is not None
        process.stdin.write(b"Subject: number%d\n\nhello" % number)
        process.stdin.close()
    for process in running:
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 0
        process.stderr.close()
    learned = SpamFilter.load(path)
    assert learned.state().arrays["totals"].tolist() == [count / 2, count / 2]
    counts = learned.state().arrays["word.counts"].sum(axis=1)
    assert (counts == 1).sum() == count, "a word of its own for each"
    assert counts.max() == count, "and one that all of them have"
