"""The section `web` of the settings: what can be set, where the token comes from, and that it is never shown."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from stream_bayes.config import SECRET_KEYS, Settings, WebSettings, load_settings
from stream_bayes.errors import ConfigError
from tests.support.commands import Run

TOKEN = "hunter2-hunter2-hunter2"
PREFIX = "STREAM_BAYES__WEB__"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder without settings."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def variables(**settings: str) -> dict[str, str]:
    """An environment with these settings."""
    return {f"{PREFIX}{name.upper()}": value for name, value in settings.items()}


def test_default_settings() -> None:
    web = load_settings(None, {}, {}).settings.web
    assert (web.host, web.port, web.token, web.token_file, web.lease) == ("127.0.0.1", 8765, None, None, "5m")
    assert web.trusted_proxies == ()
    assert web.read_token() is None


def test_every_setting_in_a_file(folder: Path) -> None:
    proxies = ["10.0.0.1", "fd00::/8"]
    (folder / "stream_bayes.toml").write_text(
        f'[web]\nhost = "0.0.0.0"\nport = 80\ntoken = "{TOKEN}"\ntrusted_proxies = {proxies}\nlease = "90s"\n'
    )
    web = load_settings(None, {}, {}).settings.web
    assert web.read_token() == TOKEN
    shown = {"host": "0.0.0.0", "port": 80, "token": "**********", "token_file": None, "lease": "90s"}
    assert web.model_dump(mode="json") == {**shown, "trusted_proxies": proxies}


@pytest.mark.parametrize("token", ["1234567890123456", "[[[[[[[[[[[[[[[[", '"quoted-quoted"!', "1979-05-27-------"])
def test_a_token_in_the_environment_is_text_whatever_it_looks_like(token: str) -> None:
    loaded = load_settings(None, variables(token=token), {})
    assert loaded.settings.web.read_token() == token
    assert loaded.origins["web.token"] == f"environment {PREFIX}TOKEN"


def test_proxies_of_the_environment() -> None:
    loaded = load_settings(None, variables(trusted_proxies='["10.0.0.1", "::1"]'), {})
    assert loaded.settings.web.trusted_proxies == ("10.0.0.1", "::1")


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_a_token_in_a_file_of_its_own(folder: Path, ending: str) -> None:
    (folder / "secret").write_bytes(f"{TOKEN}{ending}".encode())
    assert load_settings(None, variables(token_file="secret"), {}).settings.web.read_token() == TOKEN


@pytest.mark.parametrize(
    "content", [b"", b"hunter2", b"hunter2 hunter2 hunter2", b"hunter2hunter2hunt\xe9", b"x" * 5000]
)
def test_a_file_with_something_else(folder: Path, content: bytes) -> None:
    (folder / "secret").write_bytes(content)
    web = WebSettings(token_file=Path("secret"))
    with pytest.raises(
        ConfigError, match=r"web\.token_file secret: the token in it must be 16 to 1024 letters"
    ) as caught:
        web.read_token()
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_a_file_that_cannot_be_read(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"web\.token_file cannot be read: No such file or directory \(none\)"):
        WebSettings(token_file=Path("none")).read_token()
    with pytest.raises(ConfigError, match=r"web\.token_file cannot be read: Is a directory"):
        WebSettings(token_file=folder).read_token()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"token": "short"}, f"web.token (environment {PREFIX}TOKEN): must be 16 to 1024 letters, digits and signs"),
        ({"token": ""}, "must be 16 to 1024 letters"),
        ({"token": "hunter2 hunter2 hunter2"}, "without spaces"),
        ({"token": TOKEN, "token_file": "x"}, "web.token and web.token_file are both set: keep one of them (environm"),
        ({"host": ""}, f"web.host = '' (environment {PREFIX}HOST): must not be empty"),
        ({"port": "-1"}, "web.port = -1 (environment"),
        ({"port": "65536"}, "must be at most 65535"),
        ({"port": "http"}, "must be a whole number"),
        ({"lease": "soon"}, "web.lease = 'soon' (environment"),
        ({"lease": "0m"}, f"web.lease = '0m' (environment {PREFIX}LEASE): must be longer than 0"),
        ({"trusted_proxies": "10.0.0.1"}, "must be a list of addresses and networks, such as ['10.0.0.1', '172.16.0.0"),
        ({"trusted_proxies": '["*"]'}, f"web.trusted_proxies = ['*'] (environment {PREFIX}TRUSTED_PROXIES): must be a"),
        ({"trusted_proxies": '["10.0.0.1/8"]'}, "must be a list of addresses"),
        ({"trusted_proxies": "[1]"}, "must be a list of addresses"),
        ({"tokn": TOKEN}, f"unknown setting 'web.tokn' (environment {PREFIX}TOKN): did you mean 'web.token'?"),
    ],
)
def test_errors_name_the_invalid_settings(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(None, variables(**settings), {})
    assert message in str(caught.value)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        'web = "hunter2"',
        '[[web]]\ntoken = "hunter2"',
        '[web]\ntoken = ["hunter2"]',
        '[web]\ntoken = "hunter2"',
        '[web]\ntoken = { a = "hunter2" }',
        '[web]\ntoken = "hunter2" x',
        f'[web]\ntoken = "{TOKEN}"\nport = "x"',
    ],
)
def test_no_mistake_in_a_file_shows_the_token(content: str, folder: Path, run: Run) -> None:
    (folder / "stream_bayes.toml").write_text(content)
    for command in (("config",), ("config", "--json"), ("web",)):
        code, output, errors = run(*command)
        assert (code, output, errors.count("\n")) == (2, "", 1)
        assert "hunter2" not in errors
        assert "stream_bayes.toml" in errors


@pytest.mark.parametrize("given", [{"token": "hunter2"}, {"token": [TOKEN]}, {"token": TOKEN, "port": -1}])
def test_errors_of_python_do_not_show_it_either(given: dict[str, Any]) -> None:
    for kind, content in ((WebSettings, given), (Settings, {"web": given})):
        with pytest.raises(ValidationError) as caught:
            kind.model_validate(content)
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_shown_settings_have_no_token(folder: Path, run: Run) -> None:
    (folder / "stream_bayes.toml").write_text(f'[web]\ntoken = "{TOKEN}"\n')
    settings = load_settings(None, {}, {}).settings
    text = run("config")[1]
    as_json = run("config", "--json")[1]
    shown = [repr(settings), str(settings.web), settings.model_dump_json(), str(settings.model_dump()), text, as_json]
    assert not any("hunter2" in one for one in shown)
    assert "# web.token is set, and not shown   # stream_bayes.toml\n" in text
    assert json.loads(as_json)["web.token"] == {"value": "**********", "origin": "stream_bayes.toml"}
    assert "web.token" in SECRET_KEYS
