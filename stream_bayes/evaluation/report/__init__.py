"""Reports of evaluations: each is one file that loads nothing from the network and runs no script.

pass_report         the HTML report of one pass or several: `write_report`
pass_charts         its four charts
strategy_report     the HTML report that compares strategies, and its chart as an SVG file: `write_strategies`
curves              the curves, reliability bins and worst mistakes of a pass, as arrays
svg                 axes, marks and charts as values
rendering           the Jinja2 environment, and the colours
templates/          the templates of pages and charts, and the style sheets
"""

from stream_bayes.evaluation.report.curves import worst_ids, worst_mistakes
from stream_bayes.evaluation.report.pass_report import REPORT_FILE, report_page, write_report

__all__ = ["REPORT_FILE", "report_page", "worst_ids", "worst_mistakes", "write_report"]
