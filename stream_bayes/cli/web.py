"""`stream-bayes web`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stream_bayes.cli.app import Json
from stream_bayes.cli.run import Checkpoints, Config, Group, LogUrl, open_existing_log
from stream_bayes.errors import ConfigError

if TYPE_CHECKING:
    from stream_bayes.config import Settings
    from stream_bayes.errors import BackgroundError

_EXTRA = ("cachetools", "fastapi", "h11", "prometheus_client", "starlette", "uvicorn")
_HOST = "Address to listen on; by default 127.0.0.1, which only this machine can reach."
_PORT = "By default 8765; 0: any free port."
_TOKEN = "A file that holds only the access token."
_LEASE = "How long a label request is reserved for one labeller; by default 5m."


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
    """Serve the web page: answer label requests, see what the model has learned.

    It reads the log and the newest checkpoint, and writes only labels; a worker learns them. If other machines can
    reach it, everyone needs a token: that of the settings (web.token, in the environment STREAM_BAYES__WEB__TOKEN) or
    of a file, else a random one is generated and printed. Ctrl-C or SIGTERM stops it with code 0. --json prints log
    messages as JSON lines.
    """
    from stream_bayes.config import load_settings

    web_options = {"web.host": host, "web.port": port, "web.token_file": token_file, "web.lease": lease}
    overrides = {"log": log, "group": group, "checkpoint.folder": checkpoints, **web_options}
    settings = load_settings(config, os.environ, overrides).settings
    open_existing_log(settings).close()
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

    token = settings.web.read_token()
    generated_token = None
    if token is None and not is_loopback(settings.web.host):
        generated_token = new_token()
        token = generated_token
    # A token protects against other sites, so that any host name of a proxy is accepted.
    access = Authenticator(token, hosts_of(settings.web.host) if token is None else None)
    failures: list[BackgroundError] = []
    app = make_app(settings, access, failures)
    serve(app, settings.web, new_token=generated_token, as_json=as_json, failures=failures)
