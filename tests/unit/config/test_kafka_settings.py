"""The section `kafka` of the settings: what can be set, what cannot stand together, and that no secret is shown."""

from __future__ import annotations

import json
import re
import traceback
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from stream_bayes.config import SECRET_KEYS, KafkaSettings, Settings, load_settings
from stream_bayes.errors import ConfigError
from tests.support.commands import Run

SECRET = "hunter2-of-me"
KEY_SECRET = "hunter2-of-the-key"
PREFIX = "STREAM_BAYES__KAFKA__"
LOGIN = {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "username": "me"}
COMPLETE = f"""
log = "kafka://one:9092,two"
[kafka]
client_id = "night"
security_protocol = "SASL_SSL"
sasl_mechanism = "SCRAM-SHA-512"
username = "me"
password = "{SECRET}"
ca_file = "ca.pem"
certificate_file = "own.pem"
key_file = "own.key"
key_password = "{KEY_SECRET}"
check_hostname = false
create_topics = false
replication_factor = 3
on_offset_gap = "earliest"
session_seconds = 30
transaction_seconds = 20
instance_id = "first"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder without settings."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def variables(**settings: str) -> dict[str, str]:
    """An environment with these settings."""
    return {f"{PREFIX}{name.upper()}": value for name, value in settings.items()}


def refused(**settings: str) -> str:
    """What is said of settings in the environment."""
    with pytest.raises(ConfigError) as caught:
        load_settings(None, variables(**settings), {})
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_every_setting_in_a_file(folder: Path) -> None:
    (folder / "stream_bayes.toml").write_text(COMPLETE)
    settings = load_settings(None, {}, {}).settings
    kafka = settings.kafka
    assert settings.log == "kafka://one:9092,two"
    assert settings.checkpoint_folder == Path("checkpoints")
    assert (kafka.password, kafka.key_password) != (None, None)
    assert kafka.password is not None
    assert kafka.password.get_secret_value() == SECRET
    assert kafka.model_dump(mode="json") == {
        "client_id": "night",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "username": "me",
        "password": "**********",
        "password_file": None,
        "ca_file": "ca.pem",
        "certificate_file": "own.pem",
        "key_file": "own.key",
        "key_password": "**********",
        "check_hostname": False,
        "create_topics": False,
        "replication_factor": 3,
        "on_offset_gap": "earliest",
        "session_seconds": 30.0,
        "transaction_seconds": 20.0,
        "instance_id": "first",
    }


@pytest.mark.parametrize("password", ["12345", "true", '"quoted"', "{ a = 1 }", " # x ", "none", "1979-05-27"])
def test_a_password_in_the_environment_is_text_whatever_it_looks_like(password: str) -> None:
    loaded = load_settings(None, variables(**LOGIN, password=password), {})
    assert loaded.settings.kafka.password is not None
    assert loaded.settings.kafka.password.get_secret_value() == password
    assert loaded.origins["kafka.password"] == f"environment {PREFIX}PASSWORD"


def test_names_and_files_in_the_environment_are_text_too() -> None:
    kafka = load_settings(
        None, variables(instance_id="7", client_id="1.5", **LOGIN, password_file="12"), {}
    ).settings.kafka
    assert (kafka.instance_id, kafka.client_id, kafka.password_file) == ("7", "1.5", Path("12"))
    kafka = load_settings(None, variables(replication_factor="2", check_hostname="false"), {}).settings.kafka
    assert (kafka.replication_factor, kafka.check_hostname) == (2, False)
    assert load_settings(None, variables(replication_factor="none"), {}).settings.kafka.replication_factor is None
    assert load_settings(None, variables(security_protocol="SSL", ca_file="~/a"), {}).settings.kafka.ca_file == (
        Path.home() / "a"
    )


SASL = {"security_protocol": "SASL_PLAINTEXT"}
TLS = {"security_protocol": "SSL"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            SASL,
            "kafka.security_protocol SASL_PLAINTEXT needs kafka.sasl_mechanism, kafka.username and kafka.password "
            f"(or kafka.password_file) (environment {PREFIX}SECURITY_PROTOCOL)",
        ),
        ({**SASL, "password": SECRET}, "SASL_PLAINTEXT needs kafka.sasl_mechanism and kafka.username ("),
        ({**LOGIN}, "SASL_SSL needs kafka.password (or kafka.password_file) ("),
        (
            {"sasl_mechanism": "PLAIN"},
            "kafka.sasl_mechanism is for SASL, and kafka.security_protocol is PLAINTEXT: set",
        ),
        (
            {**TLS, "username": "me", "password": SECRET},
            "kafka.username and kafka.password are for SASL, and kafka.secu",
        ),
        ({**LOGIN, "password": SECRET, "password_file": "x"}, "kafka.password and kafka.password_file are both set"),
        ({**TLS, "certificate_file": "x"}, "kafka.certificate_file needs kafka.key_file: the same path where one file"),
        ({**TLS, "key_file": "x"}, "kafka.key_file needs kafka.certificate_file"),
        ({**TLS, "key_password": KEY_SECRET}, "kafka.key_password needs kafka.certificate_file"),
        ({"ca_file": "x"}, "kafka.ca_file is for TLS, and kafka.security_protocol is PLAINTEXT: set it to SSL"),
        ({**LOGIN, **SASL, "password": SECRET, "ca_file": "x"}, "is SASL_PLAINTEXT: set it to SASL_SSL"),
        ({"password": ""}, f"kafka.password (environment {PREFIX}PASSWORD): must not be empty"),
        ({"username": ""}, "kafka.username = '' "),
        ({**TLS, "ca_file": ""}, f"kafka.ca_file = '' (environment {PREFIX}CA_FILE): must not be empty"),
        ({"security_protocol": "ssl"}, "must be 'PLAINTEXT', 'SSL', 'SASL_PLAINTEXT' or 'SASL_SSL'"),
        ({"sasl_mechanism": "GSSAPI"}, "must be 'PLAIN', 'SCRAM-SHA-256' or 'SCRAM-SHA-512'"),
        ({"on_offset_gap": "latest"}, "must be 'fail' or 'earliest'"),
        ({"session_seconds": "5"}, "kafka.session_seconds = 5 (environment"),
        ({"session_seconds": "5"}, "must be at least 6"),
        ({"session_seconds": "301"}, "must be at most 300"),
        ({"transaction_seconds": "nan"}, "must be a finite number"),
        ({"replication_factor": "0"}, "must be at least 1"),
        ({"replication_factor": "all"}, "must be a whole number, or 'none'"),
        ({"check_hostname": "perhaps"}, "must be true or false"),
        ({"instance_id": "../x"}, "kafka.instance_id = '../x' (environment"),
        (
            {"passwrd": SECRET},
            f"unknown setting 'kafka.passwrd' (environment {PREFIX}PASSWRD): did you mean 'kafka.pass",
        ),
    ],
)
def test_errors_name_the_invalid_settings(settings: dict[str, str], message: str) -> None:
    assert message in refused(**settings)


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        'kafka = "hunter2"',
        '[[kafka]]\npassword = "hunter2"',
        '[kafka]\npassword = ["hunter2"]',
        '[kafka]\npassword.is = "hunter2"',
        '[kafka]\npassword = { a = "hunter2" }',
        '[kafka]\npassword = "hunter2" x',
        '[kafka]\npassword = "hunter2"',
        '[kafka]\npassword = "hunter2"\nsecurity_protocol = "x"',
        'log = "kafka://me:hunter2@host"',
        'log = "kafka://me:hun/hunter2@host,host"',
        'log = "kafka:me:hunter2@host"',
        'log = "http://me:hunter2@host"',
    ],
)
def test_no_mistake_in_a_file_shows_a_secret(content: str, folder: Path, run: Run) -> None:
    (folder / "stream_bayes.toml").write_text(content)
    for command in (("config",), ("config", "--json"), ("run",), ("tail", "status"), ("dead-letters", "list")):
        code, output, errors = run(*command)
        assert (code, output, errors.count("\n")) == (2, "", 1)
        assert "hunter2" not in errors
        assert "stream_bayes.toml" in errors


@pytest.mark.parametrize("given", [{"password": SECRET}, {"password": 12345}, {"key_password": [SECRET]}])
def test_python_errors_do_not_show_a_secret_either(given: dict[str, Any]) -> None:
    for kind, content in ((KafkaSettings, given), (Settings, {"kafka": given})):
        with pytest.raises(ValidationError) as caught:
            kind.model_validate(content)
        shown = "".join(traceback.format_exception(caught.value))
        assert "hunter2" not in shown
        assert "12345" not in shown


def test_shown_settings_have_no_secret(folder: Path, run: Run) -> None:
    file = folder / "stream_bayes.toml"
    file.write_text(COMPLETE)
    settings = load_settings(None, {}, {}).settings
    shown = [repr(settings), str(settings.kafka), settings.model_dump_json(), str(settings.model_dump())]
    for arguments in (("config",), ("config", "--json")):
        code, output, errors = run(*arguments)
        assert (code, errors) == (0, "")
        shown.append(output)
    assert not any("hunter2" in text for text in shown)
    assert "# kafka.password is set, and not shown   # stream_bayes.toml\n" in shown[-2]
    assert re.search(r'^kafka\.username += "me" ', shown[-2], re.MULTILINE)
    assert json.loads(shown[-1])["kafka.password"] == {"value": "**********", "origin": "stream_bayes.toml"}
    assert "hunter2" not in json.dumps(Settings.model_json_schema())
    assert {"kafka.password", "kafka.key_password", "web.token"} == SECRET_KEYS


def test_printed_settings_can_be_loaded_except_secrets(folder: Path, run: Run) -> None:
    (folder / "stream_bayes.toml").write_text(COMPLETE)
    copy = folder / "copy.toml"
    copy.write_text(run("config")[1])
    given = {f"{PREFIX}PASSWORD": SECRET, f"{PREFIX}KEY_PASSWORD": KEY_SECRET}
    assert load_settings(copy, given, {}).settings == load_settings(None, {}, {}).settings
