"""`stream-bayes demo`."""

from __future__ import annotations

import json
import signal
from typing import Annotated

import typer

from stream_bayes.cli.app import Json, leave_the_screen, replace_what_cannot_be_written, stop_at_once


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Which random data to draw.")] = 1,
    fast: Annotated[bool, typer.Option("--fast", help="Leave out the pauses.")] = False,
    as_json: Json = False,
) -> None:
    """Watch three learners learn (20 seconds).

    Each event is predicted first and learned second; the intervals close on the truth as they should.
    """
    from rich.console import Console

    from stream_bayes.demo.waiting import Waiting

    replace_what_cannot_be_written()
    with Waiting(Console(stderr=True), stop_at_once):
        from stream_bayes.demo.findings import final_frames, report, warm_up

        warm_up()
    if as_json:
        typer.echo(json.dumps(report(seed, final_frames(seed)), indent=2))
        return
    from stream_bayes.demo.show import show

    # No exception: one raised while compiled code calls back into Python is lost, and the demo would go on.
    signal.signal(signal.SIGINT, lambda *_: leave_the_screen())
    show(Console(), seed, fast=fast)
