"""`stream-bayes web`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_bayes.cli.app import Json
from stream_bayes.cli.run import Checkpoints, Config, Group, LogUrl, existing
from stream_bayes.errors import ConfigError

if TYPE_CHECKING:
    from stream_bayes.config import Settings
    from stream_bayes.errors import BackgroundError

_EXTRA = ("cachetools", "fastapi", "h11", "prometheus_client", "starlette", "uvicorn")
_HOST = "What to listen on; by default 127.0.0.1, which only this machine reaches."
_PORT = "By default 8765; 0: any that is free."
_TOKEN = "A file with the token that everybody must show, and nothing else."
_LEASE = "For so long a question is one person's; by default 5m."


def web(
    config: Config = None,
    log: LogUrl = None,
    group: Group = None,
    checkpoints: Checkpoints = None,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help=_HOST)] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, metavar="N", help=_PORT)] = None,
    token_file: Annotated[Path | None, typer.Option("--token-file", metavar="FILE", help=_TOKEN)] = None,
    lease: Annotated[str | None, typer.Option(metavar="TIME", help=_LEASE)] = None,
    as_json: Json = False,
) -> None:
    """Show the page: label what the engine asks, see what it learns.

    It reads the log and the newest checkpoint, and writes nothing but labels; a worker beside it learns them. Where
    others than this machine reach it everybody needs a token: that of the settings (web.token, in the environment
    STREAM_BAYES__WEB__TOKEN) or of a file, else one is made up and printed. Ctrl-C or SIGTERM ends it with code 0.
    --json prints its messages as JSON, one a line.
    """
    from stream_bayes.config import load_settings

    page = {"web.host": host, "web.port": port, "web.token_file": token_file, "web.lease": lease}
    given = {"log": log, "group": group, "checkpoint.folder": checkpoints, **page}
    settings = load_settings(config, os.environ, given).settings
    existing(settings).close()
    try:
        _serve(settings, as_json=as_json)
    except ModuleNotFoundError as problem:
        if problem.name is None or problem.name.partition(".")[0] not in _EXTRA:
            raise
        message = "the page needs the extra: pip install 'stream_bayes[web]'"
        raise ConfigError(message) from problem


def _serve(settings: Settings, *, as_json: bool) -> None:
    from stream_bayes.web.api.app import make_app
    from stream_bayes.web.security.auth import Authenticator, hosts_of, is_loopback, new_token
    from stream_bayes.web.server import serve

    place = settings.web
    token = settings.web.secret()
    generated = None
    if token is None and not is_loopback(place.host):
        token = new_token()
        generated = token
    # With a token, other sites can do nothing here; the page may then be reached through a proxy, by any name.
    access = Authenticator(token, hosts_of(place.host) if token is None else None)
    failures: list[BackgroundError] = []
    app = make_app(settings, access, failures)
    serve(app, place, new_token=generated, as_json=as_json, failures=failures)
