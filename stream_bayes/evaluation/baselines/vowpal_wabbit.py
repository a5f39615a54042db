"""Vowpal Wabbit through its Python interface."""

from __future__ import annotations

from collections.abc import Sequence

from stream_bayes.evaluation.baselines.base import Baseline, words_of

OPTIONS = "--loss_function logistic -b 22 --quiet"
_LABELS = {True: "1", False: "-1", None: ""}


class VowpalWabbit(Baseline):
    """Online logistic regression of Vowpal Wabbit on the words of a mail.

    Parameters
    ----------
    ngram
        1 for words, 2 for words and pairs of words that follow each other.

    Notes
    -----
    A mail is its first 4,000 bytes, headers and body as they stand, decoded as latin-1; words are what stands between
    blanks and colons. Each mail is parsed once, predicted, then learned, which takes two thirds of the time of giving
    its text to both calls. Options: `--loss_function logistic -b 22`, all others as they come.
    """

    def __init__(self, ngram: int = 1) -> None:
        from vowpalwabbit import Workspace

        self.name = "vowpal-wabbit" if ngram == 1 else f"vowpal-wabbit-{ngram}-grams"
        self._workspace = Workspace(OPTIONS if ngram == 1 else f"{OPTIONS} --ngram {ngram}")

    def features(self, mails: Sequence[bytes]) -> list[str]:
        """Each mail as a line without its label."""
        return [f" | {words_of(mail)}" for mail in mails]

    def _test_then_train_one(self, mail: str, spam: bool | None) -> float:
        example = self._workspace.parse(_LABELS[spam] + mail)
        score = float(self._workspace.predict(example))
        if spam is not None:
            self._workspace.learn(example)
        self._workspace.finish_example(example)
        return score

    def close(self) -> None:
        """Free the weights."""
        self._workspace.finish()
