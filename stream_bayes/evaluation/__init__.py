"""Evaluation of spam filters over a corpus, as in the TREC spam track: predict each mail, then learn its label.

corpora/                mails from files and folders of many formats: `open_corpus`
stream                  the order of the mails, as stored, shuffled or interleaved: `Stream`
filters                 the interface of a filter: `MailFilter`, `FilterScores`
factory                 filters by name: `open_filter`
learner_filter          any learner as a filter
baselines/              filters of other projects
feedback                feedback regimes, which labels are learned: `FeedbackRegime`
label_delay             when labels come
protocol                one pass over a stream: `run`, `PassResult`
active_learning         a pass in which a selector requests labels
timing                  time by stage, and memory
metrics                 metrics with bootstrap intervals: `all_metrics`, `summarise`
late_sources            mailing lists and domains that begin late in a stream
pass_figures            the figures of a pass with few labels, and what is within noise
sweep                   many passes on all cores
process_pool            the processes of a sweep
strategy_comparison     strategies of active learning with several budgets, beside chance at the same pace
serialization           the result of a pass as a dict for JSON
formatting, tables      numbers as text, and tables for a terminal
report/                 HTML reports
"""
