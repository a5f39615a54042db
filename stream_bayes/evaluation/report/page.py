"""The frame of a page: one file, no network, no scripts."""

from __future__ import annotations

from collections.abc import Iterable

from stream_bayes.evaluation.report.markup import element, text
from stream_bayes.evaluation.report.style import STYLE


def page(title: str, parts: Iterable[str], footer: str) -> str:
    """A page as text, HTML that is well-formed XML too; the parts are markup already, title and footer are not."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", text(title)),
        element("style", STYLE),
    )
    body = element("body", element("main", *parts), element("footer", text(footer)))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"
