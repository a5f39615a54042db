"""`stream-bayes dead-letters`: list, show and requeue records that could not be processed."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream_bayes.cli.app import Json, print_error
from stream_bayes.cli.run import Config, LogUrl, load_command_settings, open_existing_log
from stream_bayes.errors import InputError

if TYPE_CHECKING:
    from stream_bayes.cli.dead_letter_records import DeadLetterRecord

app = typer.Typer(
    name="dead-letters",
    help="Records that could not be processed: list them, show one, requeue them after a fix.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_BATCH_SIZE = 200
_SHOWN_BYTES = 4000

Code = Annotated[str | None, typer.Option(metavar="CODE", help="Only those with this code.")]


@app.command("list")
def list_letters(
    config: Config = None,
    log: LogUrl = None,
    code: Code = None,
    limit: Annotated[int, typer.Option(min=1, help="Number of newest letters.")] = 50,
    as_json: Json = False,
) -> None:
    """List the newest letters, with counts by code of open and requeued ones."""
    from stream_bayes.cli.dead_letter_records import dead_letter_records

    settings = load_command_settings(config, log)
    open_ones: Counter[str] = Counter()
    sent_again: Counter[str] = Counter()
    newest: deque[DeadLetterRecord] = deque(maxlen=limit)
    with open_existing_log(settings) as source:
        for letter in _filter_by_code(dead_letter_records(source, settings), code):
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
        typer.echo(
            f"{letter.position:<10} {at}  {_format_source(letter):<16} {content.code:<20} {content.message}{again}"
        )
    again = f"; sent again: {_format_counts(sent_again)}" if sent_again else ""
    typer.echo(f"open: {_format_counts(open_ones)}{again}")


@app.command()
def show(
    position: Annotated[str, typer.Argument(help="PARTITION-OFFSET, as list prints it.", show_default=False)],
    config: Config = None,
    log: LogUrl = None,
    as_json: Json = False,
) -> None:
    """Show one letter with its payload."""
    from stream_bayes.cli.dead_letter_records import dead_letter_at

    settings = load_command_settings(config, log)
    with open_existing_log(settings) as source:
        letter = dead_letter_at(source, settings, position)
    payload = letter.content.payload
    if as_json:
        typer.echo(json.dumps({**_summary(letter), "payload": b64encode(payload).decode()}, indent=2))
        return
    for name, value in _summary(letter).items():
        typer.echo(f"{name:<12}{_escape(str(value))}")
    size = letter.content.size or len(payload)
    if size and not payload:
        typer.echo(f"{'payload':<12}{size:,} bytes, which are only at the source")
        return
    typer.echo(f"{'payload':<12}{size:,} bytes{', of which the first' if size > _SHOWN_BYTES else ''}:")
    lines = payload[:_SHOWN_BYTES].decode("utf-8", "backslashreplace").split("\n")
    typer.echo("\n".join(map(_escape, lines)))


@app.command()
def requeue(
    positions: Annotated[list[str] | None, typer.Argument(help="PARTITION-OFFSET, as list prints it.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that were not sent again yet.")] = False,
    code: Code = None,
    config: Config = None,
    log: LogUrl = None,
    as_json: Json = False,
) -> None:
    """Send the original records again to the topics they came from.

    Use it after the cause is fixed, such as a limit that was raised. --all and --code send each letter once: those
    that were sent again before are skipped. A record that fails again becomes a new letter. A letter that is named is
    sent again even if it was before.
    """
    from stream_bayes.cli.dead_letter_records import dead_letter_at, dead_letter_records, requeue_record
    from stream_bayes.evaluation.corpora.mail import counted

    if bool(positions) == (everything or code is not None):
        message = "name the letters to send again, or choose --all or --code CODE"
        raise InputError(message)
    settings = load_command_settings(config, log)
    count = 0
    with open_existing_log(settings) as source:
        named = (dead_letter_at(source, settings, position) for position in positions or ())
        matching = () if positions else _filter_by_code(dead_letter_records(source, settings), code)
        for count, letter in enumerate(chain(named, (each for each in matching if not each.sent_again)), 1):
            requeue_record(source, settings, letter)
            if count % _BATCH_SIZE == 0:
                source.commit({})
        source.commit({})
    typer.echo(json.dumps({"sent_again": count}) if as_json else f"{counted(count, 'record')} sent again")


def _filter_by_code(found: Iterable[DeadLetterRecord], code: str | None) -> Iterator[DeadLetterRecord]:
    """Yield the letters with a code, if one is given; if none has it, print the codes that exist."""
    present: Counter[str] = Counter()
    for letter in found:
        present[letter.content.code] += 1
        if code in (None, letter.content.code):
            yield letter
    if code is not None and present and code not in present:
        near = get_close_matches(code, present, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(present)}"
        print_error(f"no letter has the code {code!r:.100}; {hint}")


def _format_counts(counts: Counter[str]) -> str:
    """Format the counts by code, most frequent first."""
    from stream_bayes.evaluation.corpora.mail import counted

    of_each = ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
    return f"{counted(counts.total(), 'letter')}{f' ({of_each})' if counts else ''}"


def _escape(text: str) -> str:
    """Escape characters that are not printable, so that they cannot control the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _format_source(letter: DeadLetterRecord) -> str:
    return f"{letter.content.topic}-{letter.content.partition}-{letter.content.offset}"


def _summary(letter: DeadLetterRecord) -> dict[str, Any]:
    content = letter.content
    return {
        "place": letter.position,
        "at": content.at.isoformat(),
        "source": _format_source(letter),
        "code": content.code,
        "message": content.message,
        "key": None if content.key is None else content.key.decode("utf-8", "backslashreplace"),
        "sent_again": letter.sent_again,
    }
