"""Generator of spam by campaign: hosts rotate, disguises increase, and sentences of ham are mixed in."""

from __future__ import annotations

from random import Random

from stream_bayes.demo.mailbox.campaigns import CAMPAIGNS, Campaign, choose, wording
from stream_bayes.demo.mailbox.grammar import GrammarWriter
from stream_bayes.demo.mailbox.ham import OWNER, Ham, Topic, link_to, quoted
from stream_bayes.demo.mailbox.mime import Draft
from stream_bayes.demo.mailbox.names import MAKERS, Person, company, domain, person

_SHAPES = {
    "person": ("plain", "plain", "plain", "html", "alternative"),
    "colleague": ("plain", "plain", "html", "alternative"),
}
_MACHINE_SHAPES = ("html", "html", "alternative", "plain")
_LOOK_ALIKES = {"a": "а@4", "e": "е3é", "i": "1í!", "o": "о0ó", "s": "$5", "l": "1|", "u": "úv", "c": "сç"}
_MAILS_PER_HOSTS = 40
"""The mean number of mails after which a campaign changes its hosts."""


class Spam:
    """Generates the spam of a mailbox. It quotes and imitates ham."""

    def __init__(self, random: Random, ham: Ham) -> None:
        self.random = random
        self._ham = ham
        self._writer = GrammarWriter(random, MAKERS)
        self._hosts = {campaign.name: self._new_hosts() for campaign in CAMPAIGNS}

    def draft(self, moment: float) -> Draft:
        """Return the next mail, at this fraction of all mails."""
        campaign, phase = choose(self.random, moment)
        if self.random.random() < 1.0 / _MAILS_PER_HOSTS:
            self._hosts[campaign.name] = self._new_hosts()
        sender = self._sender(campaign)
        host = self.random.choice(self._hosts[campaign.name])
        self._writer.bind(first=OWNER.first, me=sender.first, me_full=sender.name, link=link_to(host))
        rule = campaign.name.partition(" ")[0]
        place = wording(self.random, campaign, phase)
        subject = self._writer.write(f"{rule}_subject_{place}")
        sentences = self._mixed(f"{rule}_say_{place}", campaign.borrows)
        share = campaign.hides * phase * self.random.random() * 2.0
        draft = Draft(sender, self._hidden(subject, share), self._paragraphs(campaign, phase, sentences, share))
        draft.shape = self.random.choice(_SHAPES.get(campaign.mask, _MACHINE_SHAPES))
        self._mask(draft, campaign, host)
        return draft

    def _mixed(self, own: str, borrowed: str) -> list[str]:
        """Return sentences of the campaign mixed with those of ham. Without any of its own it has a link."""
        count = int(self.random.random() * 5.0)
        mixed = [*self._writer.sentences(own, count, count), *self._writer.sentences(borrowed, 1, 4)]
        self.random.shuffle(mixed)
        return mixed if count else [*mixed, self._writer.fill("link")]

    def _paragraphs(self, campaign: Campaign, phase: float, sentences: list[str], share: float) -> list[str]:
        """Return the paragraphs: the message, and the parts that imitate other senders."""
        hidden = [self._hidden(sentence, share) for sentence in sentences]
        body = hidden if campaign.mask == "shop" else [" ".join(hidden)]
        parts = [self._writer.fill("opening"), *body] if self.random.random() < 0.6 else body
        if campaign.mask == "shop":
            parts.append(self._writer.fill("unsubscribe"))
        elif self.random.random() < 0.7:
            parts.append(self._writer.fill("closing" if campaign.mask != "person" else "stranger_closing"))
        if campaign.mask == "colleague" or (campaign.mask == "person" and self.random.random() < 0.15 * phase):
            parts.append(self._borrowed_thread())
        elif self.random.random() < 0.25 * phase:
            parts.append(self._ham.sentences(1, 4))
        return parts

    def _borrowed_thread(self) -> str:
        if not self._ham.topics:
            return quoted(Topic("", self._ham.colleague(), self._ham.sentences(1, 3), ""), self._writer)
        return quoted(self.random.choice(self._ham.topics), self._writer)

    def _mask(self, draft: Draft, campaign: Campaign, host: str) -> None:
        chance = self.random.random()
        if campaign.mask == "shop" and chance < 0.6:
            draft.headers.append(("List-Unsubscribe", f"<http://{host}/leave/{self.random.getrandbits(30)}>"))
        elif campaign.mask == "bill" and chance < 0.5:
            draft.attachment = f"invoice_{MAKERS['code'](self.random)}.{'pdf' if chance < 0.35 else 'zip'}"
        elif campaign.mask == "colleague" and self._ham.topics and chance < 0.6:
            draft.subject = f"Re: {self.random.choice(self._ham.topics).subject}"

    def _sender(self, campaign: Campaign) -> Person:
        hosts = self._hosts[campaign.name]
        if campaign.mask == "colleague":
            colleague = self._ham.colleague()
            stranger = person(self.random, self.random.choice(hosts))
            return colleague if self.random.random() < 0.35 else Person(colleague.name, stranger.address)
        if campaign.mask == "person":
            return person(self.random, None if self.random.random() < 0.6 else self.random.choice(hosts))
        box = self.random.choice(("news", "info", "service", "no-reply", "hello", "support", "orders"))
        host = self.random.choice(hosts)
        brand = host.partition(".")[0].title() if self.random.random() < 0.6 else company(self.random)
        return Person(brand, f"{box}@{host}")

    def _new_hosts(self) -> list[str]:
        return [domain(self.random) for _ in range(4)]

    def _hidden(self, text: str, share: float) -> str:
        if share <= 0.0:
            return text
        words = text.split(" ")
        return " ".join([self._disguised(word) if self._is_hidden(word, share) else word for word in words])

    def _is_hidden(self, word: str, share: float) -> bool:
        return len(word) > 3 and "/" not in word and self.random.random() < share

    def _disguised(self, word: str) -> str:
        """Disguise a word so that people can still read it: by a look-alike, a break, a swap or a doubled letter."""
        way = int(self.random.random() * 4)
        place = 1 + int(self.random.random() * (len(word) - 2))
        letter = word[place]
        if way == 0:
            return word[:place] + self.random.choice(_LOOK_ALIKES.get(letter, letter)) + word[place + 1 :]
        if way == 1:
            return word[:place] + self.random.choice(".-_ *") + word[place:]
        if way == 2:
            return word[:place] + word[place + 1] + letter + word[place + 2 :]
        return word[:place] + letter + word[place:]
