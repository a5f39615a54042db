"""The command line, `stream-bayes`: one module for each command, named like it.

Importing the package loads nothing: `main` installs signal handlers first, then imports the commands.

startup              the entry point: signals, then the commands
app                  the typer application, exit codes and error output
commands             registration of all commands
interruption         deferred Ctrl-C
evaluate_runs        runs and report of `evaluate`
evaluate_strategies  `evaluate --strategies` and `--repeat`
progress             progress bars of `evaluate`
produce_writer       writes a corpus to the log
observation_index    which observations are in the log already, and their labels
dead_letter_records  reads and requeues dead letters
formatting           label requests, outcomes and status as lines of text
inspect_requests     the label requests of a checkpoint

The commands: classify, config, corpus, dead_letters, demo, evaluate, inspect, produce, rebuild, run, schemas, send,
tail, warm_up, web.
"""

from stream_bayes.cli.startup import main

__all__ = ["main"]
