"""`stream-bayes dead-letters`: what could not be used, why, and another try after a fix."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream_bayes.cli.app import Json, say
from stream_bayes.cli.run import Config, LogUrl, existing, settings_from
from stream_bayes.errors import InputError

if TYPE_CHECKING:
    from stream_bayes.cli.dead_letter_records import DeadLetterRecord

app = typer.Typer(
    name="dead-letters",
    help="Records that could not be used: list them, show one, send them again after the reason is gone.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_AT_ONCE = 200
_SHOWN_BYTES = 4000

Code = Annotated[str | None, typer.Option(metavar="CODE", help="Only those with this code.")]


@app.command("list")
def list_letters(
    config: Config = None,
    log: LogUrl = None,
    code: Code = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest.")] = 50,
    as_json: Json = False,
) -> None:
    """List the newest, and count by code those that are open and those that were sent again."""
    from stream_bayes.cli.dead_letter_records import dead_letter_records

    settings = settings_from(config, log)
    open_ones: Counter[str] = Counter()
    sent_again: Counter[str] = Counter()
    newest: deque[DeadLetterRecord] = deque(maxlen=limit)
    with existing(settings) as source:
        for letter in _with_code(dead_letter_records(source, settings), code):
            (sent_again if letter.sent_again else open_ones)[letter.content.code] += 1
            newest.append(letter)
    if as_json:
        shown = [_summary(letter) for letter in newest]
        typer.echo(json.dumps({"open": open_ones, "sent_again": sent_again, "newest": shown}, indent=2))
        return
    for letter in newest:
        content = letter.content
        again = "  (sent again)" if letter.sent_again else ""
        at = f"{content.at:%Y-%m-%d %H:%M:%S}"
        typer.echo(f"{letter.place:<10} {at}  {_source(letter):<16} {content.code:<20} {content.message}{again}")
    again = f"; sent again: {_by_code(sent_again)}" if sent_again else ""
    typer.echo(f"open: {_by_code(open_ones)}{again}")


@app.command()
def show(
    place: Annotated[str, typer.Argument(help="PARTITION-OFFSET, as list prints it.", show_default=False)],
    config: Config = None,
    log: LogUrl = None,
    as_json: Json = False,
) -> None:
    """Show one with its payload."""
    from stream_bayes.cli.dead_letter_records import dead_letter_at

    settings = settings_from(config, log)
    with existing(settings) as source:
        letter = dead_letter_at(source, settings, place)
    payload = letter.content.payload
    if as_json:
        typer.echo(json.dumps({**_summary(letter), "payload": b64encode(payload).decode()}, indent=2))
        return
    for name, value in _summary(letter).items():
        typer.echo(f"{name:<12}{_harmless(str(value))}")
    size = letter.content.size or len(payload)
    if size and not payload:
        typer.echo(f"{'payload':<12}{size:,} bytes, which are only at the source")
        return
    typer.echo(f"{'payload':<12}{size:,} bytes{', of which the first' if size > _SHOWN_BYTES else ''}:")
    lines = payload[:_SHOWN_BYTES].decode("utf-8", "backslashreplace").split("\n")
    typer.echo("\n".join(map(_harmless, lines)))


@app.command()
def requeue(
    places: Annotated[list[str] | None, typer.Argument(help="PARTITION-OFFSET, as list prints it.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Each that was not sent again yet.")] = False,
    code: Code = None,
    config: Config = None,
    log: LogUrl = None,
    as_json: Json = False,
) -> None:
    """Send records again, as they were, to the topics they came from.

    Do this after the reason is gone: a limit raised, a setting mended. --all and --code send each letter once: those
    that were sent again before are left out. A record that fails again is a new letter. A letter named by its place is
    sent again even if it was before.
    """
    from stream_bayes.cli.dead_letter_records import dead_letter_at, dead_letter_records, send_again
    from stream_bayes.evaluation.corpora.mail import counted

    if bool(places) == (everything or code is not None):
        message = "name the letters to send again, or choose --all or --code CODE"
        raise InputError(message)
    settings = settings_from(config, log)
    count = 0
    with existing(settings) as source:
        named = (dead_letter_at(source, settings, place) for place in places or ())
        matching = () if places else _with_code(dead_letter_records(source, settings), code)
        for count, letter in enumerate(chain(named, (each for each in matching if not each.sent_again)), 1):
            send_again(source, settings, letter)
            if count % _AT_ONCE == 0:
                source.commit({})
        source.commit({})
    typer.echo(json.dumps({"sent_again": count}) if as_json else f"{counted(count, 'record')} sent again")


def _with_code(found: Iterable[DeadLetterRecord], code: str | None) -> Iterator[DeadLetterRecord]:
    """Those with a code, if one is given; where there are none, the codes there are are said."""
    present: Counter[str] = Counter()
    for letter in found:
        present[letter.content.code] += 1
        if code in (None, letter.content.code):
            yield letter
    if code is not None and present and code not in present:
        near = get_close_matches(code, present, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(present)}"
        say(f"no letter has the code {code!r:.100}; {hint}")


def _by_code(counts: Counter[str]) -> str:
    """The codes, the most frequent first."""
    from stream_bayes.evaluation.corpora.mail import counted

    of_each = ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
    return f"{counted(counts.total(), 'letter')}{f' ({of_each})' if counts else ''}"


def _harmless(text: str) -> str:
    """As Python would write it: no character of it can do anything to a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _source(letter: DeadLetterRecord) -> str:
    return f"{letter.content.topic}-{letter.content.partition}-{letter.content.offset}"


def _summary(letter: DeadLetterRecord) -> dict[str, Any]:
    content = letter.content
    return {
        "place": letter.place,
        "at": content.at.isoformat(),
        "source": _source(letter),
        "code": content.code,
        "message": content.message,
        "key": None if content.key is None else content.key.decode("utf-8", "backslashreplace"),
        "sent_again": letter.sent_again,
    }
