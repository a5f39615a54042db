"""Spam filters run over a corpus as the TREC spam track does it: in order, predict, score, then (maybe) learn.

corpora     mails out of files and folders, in order
order       the same shuffled, in turn or cut: `Stream`
source      a stream as it is named on a command line
filters     what is run: `Filter`, and what it answers with, `Scores`
opening     a filter by its name: `open_filter`
peers       other people's filters, where they are installed
feedback    which labels a filter is told, where that is known beforehand; delay: and when
regime      the same as one asks for it, active:BUDGET included: `Regime`
asking      the pass in which predictions decide whose labels are asked for
clock       time by stage, memory
protocol    one pass: `run`, and what it gave, `Run`; progress: while it goes on
metrics     what the pass was worth: `all_metrics`
bootstrap   the same with intervals: `summarise`
sweep       many passes on all cores (processes); strategies: side by side, with several budgets
described, tables, strategy_tables, report    for machines, for a terminal, for a browser
"""
