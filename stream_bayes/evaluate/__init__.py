"""Spam filters run over a corpus as the TREC spam track does it: in order, predict, score, then (maybe) learn.

corpora     mails out of files and folders, in order
order       the same shuffled or cut: `Stream`
filters     what is run: `Filter`, and what it answers with, `Scores`
opening     a filter by its name: `open_filter`
peers       other people's filters, where they are installed
feedback    which labels a filter is told, and when
clock       time by stage, memory
protocol    one pass: `run`, and what it gave, `Run`
metrics     what the pass was worth: `all_metrics`
bootstrap   the same with intervals: `summarise`
described, tables, report    for machines, for a terminal, for a browser
"""
