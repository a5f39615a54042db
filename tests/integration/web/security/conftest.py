"""Fixtures of applications behind the security middleware: open, with a token, behind a proxy."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from stream_bayes.web.api.app import secure
from stream_bayes.web.security.auth import Authenticator, hosts_of
from tests.support.app_server import Served, served
from tests.support.secured_app import TOKEN, Clock, application


@pytest.fixture(scope="module")
def open_access() -> Authenticator:
    """Of a page that everybody on the machine may use."""
    return Authenticator(None, hosts_of("127.0.0.1"))


@pytest.fixture(scope="module")
def page(open_access: Authenticator) -> Iterator[Served]:
    """One that everybody on the machine may use."""
    with served(secure(application(open_access), open_access)) as place:
        yield place


@pytest.fixture(scope="module")
def access() -> Authenticator:
    """Of a page with a token."""
    return Authenticator(TOKEN, clock=Clock())


@pytest.fixture(scope="module")
def secured(access: Authenticator) -> Iterator[Served]:
    """One that needs the token."""
    with served(secure(application(access), access)) as place:
        yield place


@pytest.fixture(scope="module")
def proxied(access: Authenticator) -> Iterator[Served]:
    """The same behind a proxy on this machine, which is believed."""
    with served(secure(application(access), access), "127.0.0.0/8") as place:
        yield place


@pytest.fixture
def client(page: Served, open_access: Authenticator) -> Iterator[httpx.Client]:
    """The page itself, in the open."""
    with page.client(**{"X-CSRF-Token": open_access.csrf}) as browser:
        yield browser


@pytest.fixture
def stranger(secured: Served, access: Authenticator) -> Iterator[httpx.Client]:
    """A client without the token, with no failures of earlier tests."""
    access.failures._times.clear()
    with secured.client() as browser:
        yield browser
