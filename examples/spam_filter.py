"""A spam filter learns the mails of an mbox with X-Label headers, or some made up here, and predicts each before.

Look at the picture: of the mails it calls spam with 70 %, seven in ten should be. Then at what spoke for and against.
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from stream_bayes import Beta, SpamFilter
from stream_bayes.evaluation.corpora import open_corpus
from stream_bayes.evaluation.metrics import all_metrics

WORDS = "lunch draft train agenda thanks budget review garden today please new offer free winner pills casino"


def made_up(path: Path) -> Path:
    """Write mails of twelve words each; the later a word is in the list, the likelier it is in spam."""
    generator = np.random.default_rng(7)
    tilt = np.linspace(-0.7, 0.7, len(WORDS.split()))
    with path.open("w") as file:
        for label in generator.choice(["ham", "spam"], 3000, p=[0.6, 0.4]):
            shares = np.exp(tilt if label == "spam" else -tilt)
            first, *words = generator.choice(WORDS.split(), 12, p=shares / shares.sum())
            file.write(f"From - Jan  1 10:00:00 2024\nX-Label: {label}\nSubject: {first}\n\n{' '.join(words)}\n\n")
    return path


def main() -> None:
    """Learn the mails in one pass, show metrics, explain one more without its label, draw the reliability."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mbox", type=Path, nargs="?", help="the mails to learn")
    parser.add_argument("--out", type=Path, default=Path("pictures"), help="folder for the picture")
    arguments = parser.parse_args()
    model = SpamFilter()
    with tempfile.TemporaryDirectory() as folder:
        *mails, last = (mail for mail in open_corpus(arguments.mbox or made_up(Path(folder, "mbox"))) if mail.label)
    predictions = model.test_then_train([mail.raw for mail in mails], [mail.label for mail in mails])
    spam = np.array([mail.label == "spam" for mail in mails])
    chances = predictions.probabilities[:, 1]
    for name, value in all_metrics(spam, predictions.spam_log_odds)._asdict().items():
        print(f"{name.replace('_', ' '):<32}{value:8.4f}")
    print(f"\nThe last mail, not learned, is {last.label}: {model.explain(last.raw)}")
    plt.switch_backend("agg")
    plt.style.use(Path(__file__).with_name("pictures.mplstyle"))
    figure, axes = plt.subplots(figsize=(8, 5))
    axes.plot((0, 1), (0, 1), ":", color="0.6")
    for own in filter(np.any, (np.minimum(chances // 0.1, 9) == tenth for tenth in range(10))):
        belief = Beta(1, 1).update_counts(spam[own].sum(), (~spam[own]).sum())
        mean = chances[own].mean()
        axes.plot((mean, mean), belief.interval(0.9), "C0", mean, spam[own].mean(), "C0o")
        axes.text(mean, 1.05, f"{own.sum():,}", ha="center")
    axes.set(xlabel="predicted probability of spam (above: mails)", ylabel="spam among them, 90 % interval")
    arguments.out.mkdir(parents=True, exist_ok=True)
    figure.savefig(arguments.out / "spam_filter.png")
    print(f"\nPicture: {arguments.out / 'spam_filter.png'}")


if __name__ == "__main__":
    main()
