"""A small application behind the guard and the real server, for tests that ask it in every wrong way."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from stream_bayes.web.schemas import Problem
from stream_bayes.web.security.auth import Authenticator
from stream_bayes.web.security.http_messages import SECURITY_HEADERS
from stream_bayes.web.security.login import login_router

TOKEN = "a-token-of-16-or-more"
MOST = 64 << 10
MAX_PREDICT = 2 << 20
SECRET = "the trace of a secret"


async def echo(request: Request) -> Response:
    """How much was sent, and how."""
    return JSONResponse({"bytes": len(await request.body()), "method": request.method})


async def fail(_: Request) -> Response:
    """Fail before anything is answered."""
    raise RuntimeError(SECRET)


async def fail_late(_: Request) -> Response:
    """Fail in the middle of an answer."""

    async def parts() -> Any:
        yield b"begun"
        raise RuntimeError(SECRET)

    return StreamingResponse(parts(), media_type="text/plain")


async def broken_by_itself(_: Request) -> Response:
    """Say too much of a failure."""
    return PlainTextResponse(SECRET, 500)


async def events(request: Request) -> Response:
    """A stream that ends when its client leaves."""

    async def parts() -> Any:
        yield b"event: change\n\n"
        while not await request.is_disconnected():
            await asyncio.sleep(0.01)

    return StreamingResponse(parts(), media_type="text/event-stream")


async def weak(_: Request) -> Response:
    """An answer with a header of its own."""
    return PlainTextResponse("x", headers={"X-Frame-Options": "SAMEORIGIN", "Cache-Control": "no-cache"})


async def file(_: Request) -> Response:
    """A file of the page."""
    return PlainTextResponse("a file", headers={"ETag": '"1"'})


def application(access: Authenticator) -> FastAPI:
    """The routes of the page, which all do nothing."""
    everything = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    app = FastAPI(
        openapi_url=None,
        routes=[
            Route("/", echo),
            Route("/healthz", echo, methods=everything),
            Route("/readyz", echo),
            Route("/metrics", echo),
            Route("/api/openapi.json", echo),
            Route("/api/echo", echo, methods=everything),
            Route("/api/events", events),
            Route("/api/predict", echo, methods=["POST"]),
            Route("/fail", fail),
            Route("/fail-late", fail_late),
            Route("/broken", broken_by_itself),
            Route("/weak", weak),
            Mount("/static", routes=[Route("/a.js", file)]),
        ],
    )
    app.include_router(login_router(access))
    return app


class Clock:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def refused(answer: httpx.Response, status: int, code: str) -> str:
    """What is said of a refusal, whose header and body are as they should be."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json"), answer.text
    problem = Problem.model_validate_json(answer.content)
    assert problem.code == code
    assert safe(answer)
    return problem.detail


def safe(answer: httpx.Response) -> bool:
    """Whether an answer has all the fields that every answer has, once each."""
    names = [name.lower() for name, _ in answer.headers.raw]
    assert {name: answer.headers.get(name) for name in SECURITY_HEADERS} == dict(SECURITY_HEADERS)
    assert all(names.count(name.encode()) == 1 for name in SECURITY_HEADERS)
    assert "server" not in answer.headers
    return True


def assert_no_http(answer: bytes) -> None:
    """It was refused by the server itself, and as safely."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["code"] == "no-http"
    for name, value in SECURITY_HEADERS.items():
        assert f"{name}: {value}".encode() in head.lower() or f"{name}: {value}".encode() in head


def raw_post(csrf: str, *fields: str) -> bytes:
    """The head of a write as it goes over the line."""
    lines = ("POST /api/echo HTTP/1.1", "Host: localhost", f"X-CSRF-Token: {csrf}", "Content-Type: application/json")
    return "\r\n".join((*lines, *fields, "", "")).encode()
