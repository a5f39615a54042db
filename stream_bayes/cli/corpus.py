"""`stream-bayes corpus`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream_bayes.cli.app import ORDER, Json, replace_unencodable_output
from stream_bayes.errors import ParameterError

if TYPE_CHECKING:
    from stream_bayes.evaluation.corpora.listing import CorpusListing

_PATH = "A corpus or a folder of corpora; by default $STREAM_BAYES_CORPORA and what --get has downloaded."
_GET = "Download a public corpus first: sms-spam or trec07."


def corpus(
    path: Annotated[Path | None, typer.Argument(help=_PATH, show_default=False)] = None,
    get: Annotated[str | None, typer.Option("--get", metavar="NAME", help=_GET)] = None,
    order: Annotated[str, typer.Option(metavar="auto|time|mixed|stored", help=ORDER)] = "auto",
    as_json: Json = False,
) -> None:
    """List corpora, or download a public one.

    Prints format, number of messages, fraction of spam, order and problems; each corpus is read completely.
    """
    if path is not None and get is not None:
        message = "name either a path or a corpus to --get, not both"
        raise ParameterError(message)
    replace_unencodable_output()
    found = _list_corpora(path, get, order)
    if as_json:
        typer.echo(json.dumps({"corpora": [_describe(one) for one in found]}, indent=2))
    elif found:
        typer.echo("\n".join(_format_corpus(one) for one in found))
        named = shlex.quote(found[0].path) if len(found) == 1 else "PATH"
        if any(one.counts.messages for one in found):
            typer.echo(f"\nTo measure a filter on {'it' if len(found) == 1 else 'one'}: stream-bayes evaluate {named}")
        elif any(one.counts.problems["missing-label"] for one in found):
            typer.echo(f"\nTo predict mails without labels: stream-bayes produce {named} --labels none --to URL")
    else:
        typer.echo(_format_empty())


def _list_corpora(path: Path | None, get: str | None, order: str) -> list[CorpusListing]:
    from stream_bayes.evaluation.corpora import downloads, listing

    if get is not None:
        return list(listing.list_corpora(downloads.download_corpus(get), order))
    if path is not None:
        return list(listing.list_corpora(path.expanduser(), order))
    files = downloads.downloaded_corpora()
    public = [one for file in files for one in listing.list_corpora(file, order, on_error="skip")]
    return [*listing.corpora_of_environment(order), *public]


def _format_empty() -> str:
    from stream_bayes.evaluation.corpora.downloads import PUBLIC_CORPORA
    from stream_bayes.evaluation.corpora.listing import CORPORA_VARIABLE

    public = [f"  stream-bayes corpus --get {name:<9} {one.description}" for name, one in PUBLIC_CORPORA.items()]
    return "\n".join(
        [f"No corpora: name a path, set {CORPORA_VARIABLE} to a folder of them, or get a public one:", *public]
    )


def _describe(one: CorpusListing) -> dict[str, Any]:
    return {
        "name": one.name,
        "path": one.path,
        "format": one.format,
        "messages": one.counts.messages,
        "spam": one.counts.spam,
        "ham": one.counts.ham,
        "unlabelled": one.counts.unlabelled,
        "spam_percent": one.spam_percent,
        "order": one.counts.order,
        "warnings": [one.counts.order_note] if one.counts.order_note else [],
        "first_id": one.first_id,
        "last_id": one.last_id,
        "problems": dict(one.counts.problems),
        "first_problems": one.counts.examples,
    }


def _format_corpus(one: CorpusListing) -> str:
    from stream_bayes.evaluation.corpora.mail import counted, shown
    from stream_bayes.evaluation.corpora.ordering import DESCRIPTIONS

    share = "" if one.spam_percent is None else f", {one.spam_percent:.1f} % spam"
    unlabelled = f", {one.counts.unlabelled:,} unlabelled" if one.counts.unlabelled else ""
    lines = [one.path, f"  {one.format}, {counted(one.counts.messages, 'message')}{share}{unlabelled}"]
    if one.counts.messages:
        lines.append(f"  {DESCRIPTIONS[one.counts.order]}")
        lines.append(f"  from {shown(one.first_id, 80)} to {shown(one.last_id, 80)}")
    if one.counts.order_note:
        lines.append(f"  warning: {one.counts.order_note}")
    for kind, number in one.counts.problems.most_common():
        lines.append(f"  left out: {number:,} {kind}, the first: {one.counts.examples[kind]}")
    return "\n".join([shown(lines[0]), *lines[1:]])
