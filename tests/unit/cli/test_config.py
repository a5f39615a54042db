"""`stream-bayes config`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from stream_bayes.config import load_settings
from tests.support.commands import Run


def test_each_setting_is_printed_with_the_place_it_came_from(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STREAM_BAYES__COMMIT__EVENTS", "5")
    (tmp_path / "stream_bayes.toml").write_text('[topics]\nlabels = "answers"\n')
    code, output, errors = run("config")
    assert (code, errors) == (0, "")
    lines = output.splitlines()
    set_ones = [line for line in lines if not line.startswith("#")]
    assert len({line.index(" = ") for line in set_ones}) == len({line.rindex("   # ") for line in set_ones}) == 1
    pairs = [line.split(" = ", maxsplit=1) for line in set_ones]
    found = {key.rstrip(): [part.strip() for part in rest.split("#")] for key, rest in pairs}
    assert found["topics.labels"] == ['"answers"', "stream_bayes.toml"]
    assert found["commit.events"] == ["5", "environment STREAM_BAYES__COMMIT__EVENTS"]
    assert "# retention.days is not set" in lines
    content = json.loads(run("config", "--json")[1])
    assert set(content) - set(found) == {
        *("checkpoint.folder", "retention.days", "kafka.sasl_mechanism", "kafka.username", "kafka.password"),
        *("kafka.password_file", "kafka.ca_file", "kafka.certificate_file", "kafka.key_file", "kafka.key_password"),
        *("kafka.instance_id", "web.token", "web.token_file"),
    }
    assert content["topics.labels"] == {"value": "answers", "origin": "stream_bayes.toml"}
    assert content["retention.days"] == {"value": None, "origin": "default"}


def test_printed_settings_can_be_loaded(run: Run, tmp_path: Path) -> None:
    first = tmp_path / "a.toml"
    second = tmp_path / "b.toml"
    first.write_text(
        'log = "caf\u00e9 \\u007f\\n \\"#"\n[learner]\n'
        'parameters = { buckets = 1024, members = ["word counts"], "a b" = nan, e = {}, d = 2026-01-31, f = 1e40 }\n',
        encoding="utf-8",
    )
    second.write_text(run("config", "--config", first)[1], encoding="utf-8")
    one, other = (load_settings(path, {}, {}).settings for path in (first, second))
    assert repr(one) == repr(other)
    assert "learner" in tomllib.loads(second.read_text("utf-8"))


def test_the_command_line_has_the_last_word(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text('log = "sqlite:///a.db"\n')
    content = json.loads(run("config", "--config", file, "--log", "sqlite:///b.db", "--group", "night", "--json")[1])
    assert content["log"] == {"value": "sqlite:///b.db", "origin": "command line"}
    assert content["group"] == {"value": "night", "origin": "command line"}


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        ('name = "SpamFliter"', "learner.name: there is no learner 'SpamFliter' in stream_bayes; did you mean"),
        ("parameters = { bukets = 8 }", "learner.parameters.bukets: unknown; did you mean 'buckets'?"),
    ],
)
def test_an_unknown_learner_is_an_error(run: Run, tmp_path: Path, learner: str, message: str) -> None:
    file = tmp_path / "a.toml"
    file.write_text(f"[learner]\n{learner}\n")
    code, output, errors = run("config", "--config", file)
    assert code == 2
    assert learner.partition(" ")[0] in output
    assert errors.startswith(f"stream-bayes: {message}")


def test_json_has_all_that_toml_has(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("[learner]\nparameters = { x = nan, day = 2026-01-31 }\n")
    content = json.loads(run("config", "--config", file, "--json")[1])
    assert content["learner.parameters"]["value"] == {"x": "NaN", "day": "2026-01-31"}
    file.write_text("[learnr]\n")
    assert run("config", "--config", file) == (
        2,
        "",
        f"stream-bayes: unknown section 'learnr' ({file}): did you mean 'learner'?\n",
    )
