"""Error rate with one model for each partition: the table of docs/how-to/scaling.md.

4,000 generated mails (the mailbox of `stream-bayes demo`, seed 1), shuffled. 200 of the first 2,000 mails have labels,
drawn at random, or all 2,000. Mail n is in partition n modulo the number of partitions, each with a `SpamFilter` of its
own. The errors are those on the last 2,000 mails, at a threshold of 1/2; mean over three draws.
"""

from __future__ import annotations

import numpy as np

from stream_bayes import SpamFilter
from stream_bayes.demo.mailbox import mailbox

MAILS = 4000
TRAINED = 2000
LABELS = 200, 2000


def error_rate(partitions: int, labels: int, seed: int) -> float:
    """Return the share of wrong predictions with one model for each partition."""
    generator = np.random.default_rng(seed)
    ordered = list(mailbox(1, MAILS))
    mails = [ordered[place] for place in generator.permutation(MAILS)]
    labelled = set(generator.choice(TRAINED, labels, replace=False).tolist())
    wrong = 0
    for partition in range(partitions):
        model = SpamFilter(buckets=2**20)
        own = range(partition, MAILS, partitions)
        for place in own:
            if place in labelled:
                model.learn_one(mails[place].raw, mails[place].label)
        rest = [mails[place] for place in own if place >= TRAINED]
        predicted = model.predictive_many([mail.raw for mail in rest]).probabilities.argmax(axis=1)
        wrong += sum(("ham", "spam")[best] != mail.label for best, mail in zip(predicted, rest, strict=True))
    return wrong / (MAILS - TRAINED)


if __name__ == "__main__":
    for partitions in (1, 2, 4, 8, 16):
        for labels in LABELS:
            rates = [100 * error_rate(partitions, labels, seed) for seed in range(3)]
            print(f"{partitions:3} {labels:5}  {np.mean(rates):.1f} %  ({min(rates):.1f} to {max(rates):.1f})")
