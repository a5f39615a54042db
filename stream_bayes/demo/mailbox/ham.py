"""Generator of ham: colleagues, lists, family, newsletters, receipts, notifications, and unknown senders."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple

from stream_bayes.demo.mailbox.grammar import GrammarWriter
from stream_bayes.demo.mailbox.mime import Draft
from stream_bayes.demo.mailbox.names import MAKERS, Person, code, company, domain, person, word

OWNER = Person("Ida Westbrook", "ida@westbrook.example")
_HUMAN_SHAPES = ("plain", "plain", "plain", "alternative", "html")
_MACHINE_SHAPES = ("plain", "html", "alternative", "html")
_ADVERTISING = ("news", "sale")
_FOOTERS = {"news": "{unsubscribe}", "sale": "{unsubscribe}", "bill": "{brand}, {city}", "notice": "-- \\n{brand}"}
_SENDERS = {"news": 8, "sale": 7, "bill": 12, "notice": 7}
"""The number of senders of each kind at the beginning."""


class Sender(NamedTuple):
    """An automatic sender: a shop, a newsletter, a service."""

    brand: str
    person: Person
    host: str
    """The host of its links."""


class Topic(NamedTuple):
    """The state of a conversation."""

    subject: str
    last: Person
    text: str
    kind: str


class Ham:
    """Generates the ham of one mailbox. Later mails answer and quote earlier ones."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.writer = GrammarWriter(random, MAKERS)
        self.colleagues = [person(random, "westbrook.example") for _ in range(9)]
        self.colleagues += [person(random, domain(random)) for _ in range(9)]
        self.topics: deque[Topic] = deque(maxlen=40)
        self._friends = [(person(random), language) for language in ("english", "german", "french") for _ in range(5)]
        self._lists = [(word(random), person(random, domain(random))) for _ in range(4)]
        self._senders = {kind: [_new_sender(random) for _ in range(count)] for kind, count in _SENDERS.items()}
        self._kinds: list[Callable[[], Draft]] = [
            *([self._colleague] * 26 + [self._reply] * 14 + [self._list] * 14 + [self._friend] * 14),
            *(partial(self._machine, kind) for kind in ("news", "bill", "notice") for _ in range(9)),
            *([partial(self._machine, "sale")] * 7 + [self._stranger] * 5),
        ]

    def draft(self) -> Draft:
        """Return the next mail."""
        return self._kinds[int(self.random.random() * len(self._kinds))]()

    def colleague(self) -> Person:
        """Return a colleague of the owner of the mailbox, drawn at random."""
        return self.colleagues[int(self.random.random() * len(self.colleagues))]

    def sentences(self, low: int, high: int) -> str:
        """Return sentences of colleagues, for spam that imitates them."""
        return " ".join(self.writer.sentences("say", low, high))

    def _colleague(self) -> Draft:
        who = self.colleague()
        self.writer.bind(first=OWNER.first, me=who.first, me_full=who.name)
        subject = self.writer.write("subject")
        text = self._body("say", 2, 6)
        self.topics.append(Topic(subject, who, text, "quick"))
        attachment = f"{self.writer.write('thing').replace(' ', '_')}.pdf" if self.random.random() < 0.1 else ""
        return self._human(who, subject, ["{opening}", *text.split("\n\n"), "{closing}"], attachment=attachment)

    def _reply(self) -> Draft:
        if not self.topics:
            return self._colleague()
        topic = self.topics[int(self.random.random() * len(self.topics))]
        who = self.colleague() if topic.kind == "quick" else person(self.random, domain(self.random))
        self.writer.bind(first=topic.last.first, me=who.first, me_full=who.name)
        answer = self._body("quick", 1, 2) if self.random.random() < 0.5 else self._body("say", 1, 3)
        self.topics.append(Topic(topic.subject, who, answer, topic.kind))
        return self._human(who, f"Re: {topic.subject}", [answer, quoted(topic, self.writer), "{closing}"])

    def _list(self) -> Draft:
        name, keeper = self._lists[int(self.random.random() * len(self._lists))]
        new = self.random.random() < 0.3
        who = person(self.random, domain(self.random)) if new else self._friends[int(self.random.random() * 9)][0]
        self.writer.bind(me=who.first, me_full=who.name, tool=name)
        parts = [self._body("list_say", 1, 3)]
        subject = f"[{name}] {self.writer.write('list_subject')}"
        if self.random.random() < 0.5:
            topic = Topic(subject, keeper, self._body("list_say", 1, 3), "list")
            subject = f"Re: {subject}"
            parts = [quoted(topic, self.writer), *parts]
        host = keeper.address.partition("@")[2]
        footer = f"-- \n{name} mailing list\n{name}@{host}\nhttp://{host}/lists/{name}"
        draft = self._human(who, subject, [*parts, who.first, footer])
        draft.headers.append(("List-Id", f"<{name}.{host}>"))
        draft.relay = host
        return draft

    def _friend(self) -> Draft:
        friend, language = self._friends[int(self.random.random() ** 1.5 * len(self._friends))]
        self.writer.bind(first=OWNER.first, me=friend.first)
        subject = self.writer.write(f"{language}_subject")
        text = self._body(f"{language}_say", 2, 6)
        return self._human(friend, subject, [f"{{{language}_opening}}", text, f"{{{language}_closing}}"])

    def _stranger(self) -> Draft:
        who = person(self.random, domain(self.random) if self.random.random() < 0.6 else None)
        self.writer.bind(first=OWNER.first, me=who.first, me_full=who.name)
        subject = self.writer.write("stranger_subject")
        text = self._body("stranger_say", 3, 6)
        self.topics.append(Topic(subject, who, text, "quick"))
        attachment = "papers.pdf" if self.random.random() < 0.15 else ""
        opening = self.random.choice(("Dear Ms Westbrook,", "Hello,", "Dear Sir or Madam,", "Hi Ida,"))
        return self._human(who, subject, [opening, text, "{stranger_closing}"], attachment=attachment)

    def _machine(self, kind: str) -> Draft:
        sender = self._sender(kind)
        self.writer.bind(first=OWNER.first, brand=sender.brand, link=link_to(sender.host), host=sender.host)
        sentences = self.writer.sentences(f"{kind}_say", 3, 7)
        footer = self.writer.text(_FOOTERS[kind])
        body = sentences if kind in _ADVERTISING else ["\n".join(sentences)]
        shape = self.random.choice(_MACHINE_SHAPES)
        draft = Draft(sender.person, self.writer.write(f"{kind}_subject"), [*body, footer], shape)
        if kind in _ADVERTISING:
            draft.headers.append(("List-Unsubscribe", f"<http://{sender.host}/leave/{self.random.getrandbits(30)}>"))
        if kind == "bill" and self.random.random() < 0.5:
            draft.attachment = f"invoice_{code(self.random)}.pdf"
        return draft

    def _sender(self, kind: str) -> Sender:
        """Return a known sender or a new one. A new one may become known."""
        known = self._senders[kind]
        if self.random.random() >= 0.2:
            return known[int(self.random.random() * len(known))]
        new = _new_sender(self.random)
        if self.random.random() < 0.2:
            known.append(new)
        return new

    def _human(self, who: Person, subject: str, paragraphs: list[str], attachment: str = "") -> Draft:
        shape = self.random.choice(_HUMAN_SHAPES)
        return Draft(who, subject, [self._filled(part) for part in paragraphs], shape, attachment=attachment)

    def _filled(self, part: str) -> str:
        return self.writer.text(part) if "{" in part else part

    def _body(self, rule: str, low: int, high: int) -> str:
        sentences = self.writer.sentences(rule, low, high)
        if len(sentences) < 4:
            return " ".join(sentences)
        return f"{' '.join(sentences[:2])}\n\n{' '.join(sentences[2:])}"


def _new_sender(random: Random) -> Sender:
    host = domain(random)
    brand = host.partition(".")[0].title() if random.random() < 0.7 else company(random)
    box = random.choice(("news", "info", "service", "no-reply", "hello", "support", "orders"))
    return Sender(brand, Person(brand, f"{box}@{host}"), host)


def link_to(host: str) -> Callable[[Random], str]:
    """Return a maker of links to this host."""
    return lambda random: f"http://www.{host}/{word(random)}/{random.getrandbits(36):x}"


def quoted(topic: Topic, writer: GrammarWriter) -> str:
    """Return the quoted text of a conversation."""
    lines = topic.text.replace("\n\n", "\n").split("\n")
    return "\n".join([f"On {writer.fill('day')}, {topic.last.name} wrote:", *(f"> {line}" for line in lines)])
