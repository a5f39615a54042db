"""Mails that a model makes up: a generative classifier can be sampled, and shows so what it believes of its classes.

Look at the words: they are those of the class, in no order and with no sense of what goes together, since naive Bayes
takes them as independent. The Bernoulli model draws which words a mail holds, the multinomial and the Poisson model how
often each comes. Without a prior no generated mail has a word that its class never had. Look at the last lines: one
classifier learns real mails, another the same number made up by the first, and on new mails they are as good.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

import numpy as np

from stream_bayes import BernoulliNB, MultinomialNB, PoissonNB

MAILS: Final = (
    ("cheap pills, cheap watches: free shipping today", "spam"),
    ("you have won money, claim your free money today", "spam"),
    ("free pills for you, cheap and fast", "spam"),
    ("lunch at noon today?", "ham"),
    ("notes of the meeting, and the plan for the project", "ham"),
    ("can we move the meeting to noon?", "ham"),
    ("thank you for the notes, see you at lunch", "ham"),
)
Mail = dict[str, int]


def words(text: str) -> Mail:
    """Return the words of a text, and how often each comes."""
    return dict(Counter(re.findall(r"\w+", text.lower())))


def make_mails(count: int, seed: int) -> list[tuple[Mail, str]]:
    """Draw mails of two classes whose words come at different rates: what the classifiers learn and are tested on."""
    generator = np.random.default_rng(seed)
    rates = {label: np.random.default_rng(place).gamma(0.5, 0.4, 60) for place, label in enumerate(("ham", "spam"))}
    mails = []
    for _ in range(count):
        label = str(generator.choice(("ham", "spam"), p=(0.6, 0.4)))
        counts = generator.poisson(0.5 * rates[label] + 0.5 * rates["ham"])
        mails.append(({f"word{place}": int(counts[place]) for place in np.flatnonzero(counts)}, label))
    return mails


def accuracy(model: MultinomialNB, mails: list[tuple[Mail, str]]) -> float:
    """Return the share of mails that a classifier gets right."""
    return float(np.mean([model.predict_one(x) == label for x, label in mails]))


def main() -> None:
    """Print generated mails, then how well a classifier learns from generated ones."""
    models = {
        "BernoulliNB, maximum likelihood": BernoulliNB(prior=None),
        "MultinomialNB, maximum likelihood": MultinomialNB(prior_count=0),
        "PoissonNB, maximum likelihood": PoissonNB(prior=None),
        "MultinomialNB, 0.1 added to each word": MultinomialNB(prior_count=0.1),
    }
    for title, model in models.items():
        for mail, known in MAILS:
            model.learn_one(words(mail), known)
        generator = np.random.default_rng(3)
        print(f"{title}:")
        for x, label in (*model.sample("spam", 2, generator), *model.sample("ham", 2, generator)):
            text = " ".join(word for word, count in x.items() for _ in range(count))
            print(f"  {label:<5} ln p = {model.log_likelihood_one(x)[label]:>7.2f}  {text}")
    real = MultinomialNB(0.5)
    for x, label in make_mails(400, seed=1):
        real.learn_one(x, label)
    copy = MultinomialNB(0.5)
    for x, label in real.sample(size=400, generator=np.random.default_rng(4)):
        copy.learn_one(x, label)
    fresh = make_mails(2000, seed=2)
    print(f"right of 2000 new mails, learned from 400 real ones: {accuracy(real, fresh):.3f}")
    print(f"right of 2000 new mails, learned from 400 generated: {accuracy(copy, fresh):.3f}")


if __name__ == "__main__":
    main()
