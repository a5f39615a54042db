"""Login page and the routes to log in and out: the token is exchanged for a session cookie."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from pydantic import Field, ValidationError

from stream_bayes.web.schemas import ApiModel, Problem
from stream_bayes.web.security.auth import Authenticator
from stream_bayes.web.security.http_messages import (
    CONTENT_POLICY,
    HtmlPage,
    Refusal,
    RequestHead,
    session_cookie,
    unauthorized,
    wrong_token,
)

LOGIN = "/api/login"
_LONGEST_TOKEN = 1024
_UNREADABLE = 'Send the token as JSON: {"token": "..."}.'

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2230; --paper: #f6f7f9; --card: #fff; --line: #767e8c; --act: #1f5fbf;
  --bad: #a3161b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7eaf0; --paper: #14171d; --card: #1d2129; --line: #8c95a5;
  --act: #2f6fd0; --bad: #ff9d98; } }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
main { box-sizing: border-box; width: min(26rem, 100vw - 2rem); padding: 1.5rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .5rem; }
h1 { margin: 0 0 .5rem; font-size: 1.25rem; }
label { display: block; margin-top: 1rem; font-weight: 600; }
input, button { box-sizing: border-box; width: 100%; min-height: 2.75rem; padding: .5rem .75rem; font: inherit;
  border-radius: .25rem; }
input { margin: .25rem 0 1rem; color: inherit; background: transparent; border: 1px solid var(--line); }
button { color: #fff; background: var(--act); border: 0; font-weight: 600; }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; }
.bad { color: var(--bad); font-weight: 600; }
"""
_CONTENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{refresh}<title>stream-bayes: log in</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main>
<h1>stream-bayes</h1>
<p id="hint">This page asks for a token: the one it was started with, or the one it printed when it started.</p>
{problem}<form method="post" action="{action}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" aria-describedby="{described}" required
  autofocus spellcheck="false" maxlength="{longest}">
<button type="submit">Log in</button>
</form>
</main>
</body>
</html>
"""
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    # The style is inline: nothing else is served without the token.
    "content-security-policy": CONTENT_POLICY.replace("style-src 'self'", f"style-src 'sha256-{_STYLE_HASH}'"),
    # With no-referrer a browser would send the form with "Origin: null".
    "referrer-policy": "same-origin",
}
# After a link from another site a browser does not send the cookie; after this refresh it does.
_REFRESH = '<meta http-equiv="refresh" content="0; url=/">\n'


class Login(ApiModel):
    """The body of a login."""

    token: Annotated[str, Field(min_length=1, max_length=_LONGEST_TOKEN)]


def login_page(problem: str | None = None, *, cross_site: bool = False) -> HtmlPage:
    """Return the login page.

    Parameters
    ----------
    problem
        Why the last login failed.
    cross_site
        Whether a link from another site led here.
    """
    content = _CONTENT.format(
        refresh=_REFRESH if cross_site else "",
        style=_STYLE,
        problem=f'<p id="problem" class="bad" role="alert">{escape(problem)}</p>\n' if problem else "",
        described="problem hint" if problem else "hint",
        action=LOGIN,
        longest=_LONGEST_TOKEN,
    )
    return HtmlPage(content.encode(), _HEADERS)


_DESCRIBED: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": Login.model_json_schema()}},
    }
}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    303: {"description": "The same for a form: a redirect to the page."},
    401: {"model": Problem, "description": "This is not the token."},
    403: {"model": Problem, "description": "Another site sent it."},
    413: {"model": Problem, "description": "It is too large."},
    415: {"model": Problem, "description": "It is neither JSON nor a form."},
    422: {"model": Problem, "description": "It is not what is described here."},
    429: {"model": Problem, "description": "Too many wrong tokens came from this address."},
}


def login_router(authenticator: Authenticator) -> APIRouter:
    """Return the routes to log in and out."""
    router = APIRouter(tags=["session"])

    @router.post(LOGIN, status_code=204, response_class=Response, responses=_PROBLEMS, openapi_extra=_DESCRIBED)
    async def login(request: Request) -> Response:
        """Log in: the response sets the session cookie."""
        head = RequestHead.of(request.scope)
        as_form = head.media_type == "application/x-www-form-urlencoded"
        refusal = _refusal(authenticator, head, _parse_token(await request.body(), as_form=as_form))
        if refusal is not None:
            return _response(refusal, as_page=as_form)
        headers = {"set-cookie": session_cookie(authenticator.cookie, head.scheme)} if authenticator.secured else {}
        return (
            Response(status_code=303, headers={**headers, "location": "/"}) if as_form else Response(None, 204, headers)
        )

    @router.post("/api/logout", status_code=204, response_class=Response)
    async def logout(request: Request) -> Response:
        """Log out: the response removes the session cookie."""
        return Response(None, 204, {"set-cookie": session_cookie(None, request.scope["scheme"])})

    return router


def _parse_token(body: bytes, *, as_form: bool) -> str | None:
    """Return the token in a body, or None."""
    try:
        if as_form:
            fields = parse_qs(body.decode("utf-8"), strict_parsing=True, max_num_fields=10)
            (token,) = fields.get("token", [])
            return Login(token=token).token
        return Login.model_validate_json(body).token
    except (ValueError, ValidationError):
        return None


def _refusal(authenticator: Authenticator, head: RequestHead, token: str | None) -> Refusal | None:
    if not authenticator.secured:
        return Refusal(422, "invalid", _UNREADABLE) if token is None else None
    if token is None:
        return unauthorized(_UNREADABLE)
    return None if authenticator.accepts(token) else wrong_token(authenticator.failures, head.address)


def _response(refusal: Refusal, *, as_page: bool) -> Response:
    if as_page:
        refusal = refusal.with_page(login_page(refusal.problem.detail))
    return Response(refusal.content, refusal.status, refusal.headers, refusal.media_type)
