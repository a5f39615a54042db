"""The Jinja2 environment of the report: templates, autoescape, and the colours of the style sheets.

Subjects, ids and names come from other people's mails and files. Autoescape makes them text. `finalize` also puts
every string into one line of bounded length without control characters, so that the result is well-formed XML.
"""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from stream_bayes.evaluation.corpora.mail import counted
from stream_bayes.evaluation.formatting import format_number, format_percent, format_ratio
from stream_bayes.evaluation.report.svg import SERIES_COLOURS, Chart, series_class
from stream_bayes.mail.render.sanitize import printable

_MAX_CHARACTERS = 160
_MAX_NOTE_CHARACTERS = 500
_COLOUR_NAMES = ("paper", "card", "ink", "soft", "edge", *(f"s{series}" for series in range(SERIES_COLOURS)))


def _palette(*values: str) -> dict[str, str]:
    return {name: f"#{value}" for name, value in zip(_COLOUR_NAMES, values, strict=True)}


LIGHT = _palette(
    *("fbfaf8", "ffffff", "1c1b19", "66625c", "e2dfd9"),
    *("1f5fbf", "d9480f", "15803d", "a21caf", "0891b2", "a16207", "e11d48", "6d28d9", "4d7c0f", "57534e"),
)
DARK = _palette(
    *("141414", "1d1d1c", "eceae6", "a5a19a", "35332f"),
    *("6ea8ff", "fb923c", "4ade80", "e879f9", "22d3ee", "facc15", "fb7185", "a78bfa", "a3e635", "a8a29e"),
)
_VARIABLES = {name: f"var(--{name})" for name in _COLOUR_NAMES}


def _single_line(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value, _MAX_CHARACTERS)
    return value


def _note(value: str) -> Markup:
    return Markup.escape(printable(value, _MAX_NOTE_CHARACTERS))


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("stream_bayes.evaluation.report"),
        autoescape=True,
        finalize=_single_line,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(counted=counted, note=_note, series_class=series_class)
    environment.filters.update(number=format_number, percent=format_percent, ratio=format_ratio)
    environment.globals.update(light=LIGHT, dark=DARK, variables=_VARIABLES)
    return environment


_ENVIRONMENT = _environment()


def render(template: str, **context: Any) -> str:
    """Render a template of this package.

    >>> render("chart.svg.jinja", chart=Chart("toy", "<b>win</b>\\u202e", "", []), css="").splitlines()[1]
    '<title id="toy-title">&lt;b&gt;win&lt;/b&gt;�</title>'
    """
    return _ENVIRONMENT.get_template(template).render(context)


def render_svg(chart: Chart, css: str) -> str:
    """Render a chart as an SVG file of its own, with this style sheet in it."""
    return render("chart.svg.jinja", chart=chart, css=Markup(css))
