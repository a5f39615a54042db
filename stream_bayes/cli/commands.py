"""Registration of all commands, in the order of --help.

Heavy imports stay inside the commands, so that `stream-bayes --help` is fast.
"""

from stream_bayes.cli import (
    classify,
    config,
    corpus,
    dead_letters,
    demo,
    evaluate,
    inspect,
    produce,
    rebuild,
    run,
    schemas,
    send,
    tail,
    warm_up,
    web,
)
from stream_bayes.cli.app import app, main

__all__ = ["main"]

for command in (
    demo.demo,
    run.run,
    web.web,
    produce.produce,
    send.send,
    tail.tail,
    rebuild.rebuild,
    inspect.inspect,
    classify.classify,
    evaluate.evaluate,
    corpus.corpus,
    config.config,
    schemas.schemas,
    warm_up.warm_up,
):
    app.command()(command)
app.add_typer(dead_letters.app)
