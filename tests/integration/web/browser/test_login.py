"""Logging in with a real browser: what it sends of itself is what the guard expects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from stream_bayes.web.api.app import secure
from stream_bayes.web.security.auth import Authenticator
from tests.support.app_server import Served, served
from tests.support.secured_app import TOKEN, application

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def secured() -> Iterator[Served]:
    access = Authenticator(TOKEN)
    with served(secure(application(access), access)) as place:
        yield place


@pytest.fixture(scope="module")
def elsewhere(secured: Served) -> Iterator[Served]:
    """Another site: one with a link to the page, and one with a form that would write or log in."""

    async def content(_: Request) -> HTMLResponse:
        form = f'<form method="post" action="{secured.url}/api/login"><input name="token" value="{TOKEN}"></form>'
        return HTMLResponse(f'<a href="{secured.url}/">there</a>{form}')

    with served(Starlette(routes=[Route("/", content)])) as place:
        yield place


def log_in(page: Page, secured: Served, token: str = TOKEN) -> None:
    """Open the page, type the token, and press Enter."""
    page.goto(f"{secured.url}/")
    type_token(page, token)


def type_token(page: Page, token: str) -> None:
    """Type a token where the browser has put the cursor, and press Enter."""
    # The browser sets the focus when it first draws the page, which may be after it is loaded.
    page.wait_for_selector("#token:focus")
    page.keyboard.type(token)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_a_person_logs_in_with_the_keyboard_alone(page: Page, secured: Served) -> None:
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if "401" not in message.text else None)
    log_in(page, secured, "wrong")
    assert page.get_by_role("alert").inner_text() == "This is not the token."
    colour = page.locator("button").evaluate("one => getComputedStyle(one).backgroundColor")
    assert colour == "rgb(31, 95, 191)"
    type_token(page, TOKEN)
    assert page.url == f"{secured.url}/"
    assert '"method":"GET"' in page.content()
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    assert not [text for text in problems if "Policy" in text or "policy" in text]


def test_a_link_from_another_site_leads_in(page: Page, secured: Served, elsewhere: Served) -> None:
    log_in(page, secured)
    page.goto(f"http://localhost:{elsewhere.port}/")
    page.click("a")
    expect(page.locator("body")).to_contain_text("GET")
    page.context.clear_cookies()
    page.goto(f"http://localhost:{elsewhere.port}/")
    page.click("a")
    page.wait_for_selector("#token")
    page.wait_for_load_state("networkidle")
    assert page.url == f"{secured.url}/"
    assert page.locator("meta[http-equiv]").count() == 0


def test_a_form_of_another_site_is_refused(page: Page, elsewhere: Served) -> None:
    page.goto(f"http://localhost:{elsewhere.port}/")
    with page.expect_navigation() as answer:
        page.evaluate("document.forms[0].submit()")
    assert answer.value is not None
    assert answer.value.status == 403
    assert not page.context.cookies()
