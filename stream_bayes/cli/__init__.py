"""The command line, `stream-bayes`: one file for each command.

Importing it loads nothing: `main` first handles signals, then imports the commands.
"""

from stream_bayes.cli.startup import main

__all__ = ["main"]
