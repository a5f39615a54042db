"""A spam filter taught from an mbox with X-Label headers, each mail predicted first and learned second.

Look at the calibration in the picture: of the mails said to be spam with 70 %, seven in ten should be. And at why the
last mail, which the filter has not been told, is what it is said to be. Without an mbox, 3,000 mails are made up.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from stream_bayes import Beta
from stream_bayes.evaluate.corpora import open_corpus
from stream_bayes.evaluate.metrics import all_metrics
from stream_bayes.spam import SpamFilter

WORDS = "lunch draft train agenda thanks budget review garden today please new offer free winner pills casino".split()
BINS = 10


def made_up(path: Path) -> Path:
    """Write mails of twelve words, those late in the list likelier in spam, from senders who send both."""
    generator, tilt = np.random.default_rng(7), np.linspace(-1, 1, len(WORDS))
    with path.open("w") as file:
        for number in range(3000):
            spam = bool(generator.random() < 0.4)
            shares = np.exp(tilt if spam else -tilt)
            first, *words = generator.choice(WORDS, 12, p=shares / shares.sum()).tolist()
            sender = f"{generator.choice(['ann', 'bob', 'eve'])}@{'shop' if generator.random() < 0.3 else 'work'}.example"
            file.write(f"From {sender} Mon Jan  1 10:00:00 2024\nX-Label: {'spam' if spam else 'ham'}\nFrom: {sender}\n")
            file.write(f"Subject: {first} {number}\n\n{' '.join(words)}\n\n")
    return path


def main() -> None:
    """Learn the mails in one pass, print metrics and an explanation, and draw the reliability diagram."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mbox", type=Path, nargs="?", help="mails to learn from")
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.mbox or made_up(Path(folder) / "mails.mbox")
        *mails, last = (mail for mail in open_corpus(path) if mail.label)
    model = SpamFilter()
    said = model.test_then_train([mail.raw for mail in mails], [mail.label for mail in mails])
    spam = np.array([mail.label == "spam" for mail in mails])
    print(f"{len(mails):,} mails, {spam.mean():.1%} spam, each predicted before it was learned")
    for name, value in all_metrics(spam, said.spam_log_odds)._asdict().items():
        print(f"  {name.replace('_', ' '):<32}{value:8.4f}")
    print(f"\nThe last mail, {last.label} by its label:\n{model.explain(last.raw)}")
