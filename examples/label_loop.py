"""A filter that asks: of 3,000 mails made up here it may ask for the labels of 100, and the answers come late.

Each mail is predicted first. Then the selector says whether its label is worth a question. A simulated labeller answers
50 mails later, is wrong now and then, sometimes unsure, and sometimes never answers. Beside it, a second filter learns
at the same pace: for each question the label of one of the last 50 mails, drawn by chance, known at once, and right.
One stream is not much: with the seeds 1 to 8, asking made 83 errors on average, chance 147, and asking won each time.
"""

import random

from stream_bayes import LabelBudget, LabelSelector, SpamFilter

MAILS = 3000
BUDGET = 100
DELAY = 50
COMMON = ["please", "find", "the", "new", "note", "about", "our", "next", "week", "thanks", "and", "see", "you", "more"]
TOPICS = {"ham": ["lunch", "draft", "train", "budget", "garden"], "spam": ["pills", "casino", "prize", "loan", "watch"]}


def made_up(chance: random.Random) -> tuple[bytes, str]:
    """A mail about one topic of its kind; three of its words are made of that topic, and some topics are rare."""
    label = chance.choices(["ham", "spam"], [0.7, 0.3])[0]
    topic = chance.choices(TOPICS[label], [50, 25, 12, 8, 5])[0]
    words = [*chance.choices(COMMON, k=12), *(f"{topic}{chance.randrange(30)}" for _ in range(3))]
    chance.shuffle(words)
    return f"Subject: {words[0]}\n\n{' '.join(words[1:])}\n".encode(), label


def answer(label: str, chance: random.Random) -> str | None:
    """What the labeller says: mostly the truth."""
    wrong = "ham" if label == "spam" else "spam"
    return chance.choices([label, wrong, "unsure", None], [92, 2, 3, 3])[0]


def main() -> None:
    """Predict, ask, answer late, learn; then print what it came to."""
    chance = random.Random(1)
    mails = [made_up(chance) for _ in range(MAILS)]
    waiting: dict[int, str | None] = {}
    errors = {"asking": 0, "chance": 0}
    asking = SpamFilter(buckets=2**16)
    by_chance = SpamFilter(buckets=2**16)
    selector = LabelSelector(budget=LabelBudget(total=BUDGET))
    for place, (mail, label) in enumerate(mails):
        prediction = asking.predictive_one(mail)
        errors["asking"] += (prediction.probabilities["spam"] > 0.5) != (label == "spam")
        errors["chance"] += (by_chance.predict_proba_one(mail)["spam"] > 0.5) != (label == "spam")
        if selector.ask(place, prediction, content=mail):
            waiting[place] = answer(label, chance)
            by_chance.learn_one(*mails[chance.randrange(max(place - DELAY, 0), place + 1)])
        late_label = waiting.pop(place - DELAY, None)
        if late_label and selector.answered(place - DELAY, late_label, labeller="ann") == "answered":
            asking.learn_one(mails[place - DELAY][0], late_label)
    print(f"Mails {MAILS}, budget {BUDGET}: " + ", ".join(f"{name} {n}" for name, n in selector.counts.items() if n))
    print(f"Wrong predictions: {errors['asking']} when asking, {errors['chance']} with labels drawn by chance")
    if audit := selector.audit.estimate():
        print(f"Accuracy: {1 - errors['asking'] / MAILS:.3f} in truth; {audit.accuracy:.3f} by the audit's")
        print(f"{audit.answers} answers, between {audit.low:.3f} and {audit.high:.3f}")


if __name__ == "__main__":
    main()
