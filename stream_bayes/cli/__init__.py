"""The command line, `stream-bayes`: one file for each command.

Only typer is imported until a command runs, so that `stream-bayes --help` is there at once.
"""

from stream_bayes.cli import classify, corpus, demo, evaluate, inspect
from stream_bayes.cli.app import app, main

__all__ = ["main"]

# In the order in which --help lists them.
for command in (demo.demo, classify.classify, evaluate.evaluate, corpus.corpus, inspect.inspect):
    app.command()(command)
