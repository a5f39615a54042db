"""The mails of a demo: what is in the generated mailbox, that it is a fair test for a filter, which corpora will do."""

from __future__ import annotations

from collections import Counter
from email import message_from_bytes
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pytest

from stream_bayes.demo.mail_sources import corpus_mails
from stream_bayes.demo.mailbox import GeneratedMail, mailbox, spans
from stream_bayes.demo.mailbox.campaigns import CAMPAIGNS, choose, wording
from stream_bayes.demo.mailbox.damage import DAMAGES
from stream_bayes.demo.mailbox.grammar import GrammarWriter, read_rules
from stream_bayes.demo.mailbox.names import MAKERS
from stream_bayes.errors import CorpusError
from stream_bayes.evaluation.metrics import one_minus_roca_percent
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.mail.render import summary
from tests.support.corpora import put

BOUND = {"link", "me", "me_full", "first", "host"}


@pytest.fixture(scope="module")
def mails() -> list[GeneratedMail]:
    return list(mailbox(seed=1, mails=6000))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_mails_and_another_gives_others(mails: list[GeneratedMail]) -> None:
    assert list(islice(mailbox(1, 6000), 300)) == mails[:300]
    assert not {mail.raw for mail in mailbox(2, 300)} & {mail.raw for mail in mails}


def test_ids_are_unique_and_labels_are_shared_out(mails: list[GeneratedMail]) -> None:
    assert len({mail.id for mail in mails}) == 6000
    labels = Counter(mail.label for mail in mails)
    assert set(labels) == {"ham", "spam"}
    assert 0.4 < labels["spam"] / 6000 < 0.5


def test_mails_have_the_sizes_of_mails(mails: list[GeneratedMail]) -> None:
    sizes = sorted(len(mail.raw) for mail in mails)
    assert 1000 < sizes[3000] < 4000
    assert sizes[-1] < 12_000


def test_both_labels_have_every_form_of_mail(mails: list[GeneratedMail]) -> None:
    for label in ("ham", "spam"):
        whole = b"".join(mail.raw for mail in mails if mail.label == label)
        for form in (
            *(b"text/plain", b"text/html", b"multipart/alternative", b"multipart/mixed", b"application/pdf"),
            *(b"quoted-printable", b"base64", b"8bit", b"charset=utf-8", b"charset=iso-8859-1", b"charset=us-ascii"),
            *(b"=?utf-8?B?", b"=?utf-8?Q?", b"=?iso-8859-1?", b"List-Unsubscribe", b"Subject: Re: ", b"\n> "),
        ):
            assert form in whole, (label, form)


@pytest.mark.slow
def test_about_a_hundredth_is_broken(mails: list[GeneratedMail]) -> None:
    broken = [mail for mail in mails if message_from_bytes(mail.raw).defects or b"\n\nFrom" in mail.raw[:9]]
    odd = [mail for mail in mails if not mail.raw.startswith(b"Return-Path: <") or b"\x00" in mail.raw]
    assert 20 < len({mail.id for mail in [*broken, *odd]}) < 120


def test_each_damage_changes_a_mail(mails: list[GeneratedMail]) -> None:
    whole = next(mail.raw for mail in mails if b"multipart" in mail.raw and b"charset=utf-8" in mail.raw)
    assert len({damage(whole, Random(1)) for damage in DAMAGES} - {whole}) == len(DAMAGES)


def test_every_mail_can_be_shown(mails: list[GeneratedMail]) -> None:
    for mail in mails[::7]:
        for text in (summary.subject(mail.raw), summary.sender(mail.raw), summary.preview(mail.raw)):
            assert text.isprintable()


def test_the_filter_learns_it_but_not_at_once_and_not_to_perfection(mails: list[GeneratedMail]) -> None:
    predictions = SpamFilter(buckets=1 << 20).test_then_train(
        [mail.raw for mail in mails], [mail.label for mail in mails]
    )
    spam = np.array([mail.label == "spam" for mail in mails])
    areas = {
        end: one_minus_roca_percent(spam[begin:end], predictions.spam_log_odds[begin:end])
        for begin, end in ((0, 1000), (1000, 2000), (0, 6000))
    }
    assert 0.05 < areas[6000] < 0.5
    assert areas[1000] > 2.0 * areas[2000]


def test_campaigns_start_drift_and_stop() -> None:
    begun = spans(1000)
    assert [span.name for span in begun] == [campaign.name for campaign in CAMPAIGNS]
    assert all(0 <= span.start < span.stop <= 1000 for span in begun)
    assert sum(span.start > 0 for span in begun) >= 8
    assert sum(span.stop < 1000 for span in begun) >= 6
    random = Random(1)
    for moment in (0.0, 0.3, 0.6, 0.999):
        chosen = {choose(random, moment)[0] for _ in range(500)}
        assert chosen == {one for one in CAMPAIGNS if one.start <= moment < one.stop}
        assert len(chosen) >= 3
    pills = CAMPAIGNS[0]
    assert [wording(random, pills, phase) for phase in (0.0, 0.5, 1.0)] == [1, 2, 3]


def test_every_slot_of_every_text_can_be_filled() -> None:
    writer = GrammarWriter(Random(1), MAKERS)
    writer.bind(**dict.fromkeys(BOUND, "x"))
    for name, alternatives in read_rules().items():
        assert len(set(alternatives)) == len(alternatives), name
        for parts in alternatives:
            assert all(writer.fill(slot) for slot in parts[1::2]), name


def test_every_campaign_has_its_texts() -> None:
    rules = read_rules()
    for campaign in CAMPAIGNS:
        assert campaign.borrows in rules
        for place in range(1, campaign.wordings + 1):
            stem = campaign.name.partition(" ")[0]
            assert len(rules[f"{stem}_subject_{place}"]) >= 4
            assert len(rules[f"{stem}_say_{place}"]) >= 4


def test_a_corpus_without_mail_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="there is no mail in it that can be read"):
        corpus_mails(put(tmp_path / "empty.jsonl", '{"id": "a", "label": "ham"}\n'), 10, seed=1)


@pytest.mark.parametrize("label", ["", ', "label": "unlabelled"'])
def test_a_corpus_without_labels_is_refused_with_what_to_do_instead(tmp_path: Path, label: str) -> None:
    corpus = put(tmp_path / "inbox.jsonl", f'{{"id": "a", "text": "hello"{label}}}\n')
    with pytest.raises(CorpusError, match=r"needs labels to play the labeller.*--labels none, then stream-bayes run"):
        corpus_mails(corpus, 10, seed=1)
