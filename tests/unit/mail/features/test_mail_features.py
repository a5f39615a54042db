"""The features of mails: what a slow reference in Python finds, however they are put into batches."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from email import message_from_bytes
from email.message import EmailMessage, Message

import numpy as np
import pytest

from stream_bayes import SpamFilter
from stream_bayes.active.coverage import message_of
from stream_bayes.active.near_duplicates import sketch_of
from stream_bayes.errors import InputError
from stream_bayes.kernels.mail.decode import MAX_TEXT
from stream_bayes.kernels.mail.features import VIEWS, Shape
from stream_bayes.mail.features.batch import Mail, MailBatch, mail_bytes, read_batch
from stream_bayes.mail.parse.parsed_mail import decode_sections
from stream_bayes.mail.render.summary import subject
from tests.support.mail_reference import reference_features
from tests.support.mails import make_mail, make_mails
from tests.support.mutations import mutated
from tests.support.tiers import short_each

DEFAULT = Shape(22, 1500, 500, MAX_TEXT, True, True)
SHAPES = {
    "default": DEFAULT,
    "light": Shape(20, 0, 0, 3000, False, False),
    "few buckets": Shape(10, 300, 200, 5000, True, True),
    "few buckets more": Shape(12, 100, 700, 700, True, True),
    "many buckets": Shape(26, 7, 3, 9000, True, True),
    "all of it": Shape(24, MAX_TEXT, MAX_TEXT, MAX_TEXT, True, True),
    "no grams": Shape(16, 0, 0, 50, True, True),
    "no words": Shape(22, 0, 400, 0, True, False),
}
MAILS = make_mails(60, seed=21)
MUTATED = list(mutated(MAILS, 200, seed=22))


def features_of(batch: MailBatch) -> list[list[list[int]]]:
    """The buckets of each view of each mail."""
    views = np.split(batch.hashed, batch.view_starts[1:-1])
    return [[view.tolist() for view in views[VIEWS * row : VIEWS * (row + 1)]] for row in range(len(batch))]


@pytest.mark.slow
@pytest.mark.parametrize("name", short_each(SHAPES, 3))
def test_they_are_those_of_the_reference(name: str) -> None:
    mails = [*MAILS, *MUTATED]
    for raw, found in zip(mails, features_of(read_batch(mails, SHAPES[name])), strict=True):
        assert found == reference_features(raw, SHAPES[name])


def test_mails_as_long_as_can_be_have_those_of_the_reference() -> None:
    rng = random.Random(23)
    mails = [
        b"Subject: x\n\n" + b" ".join(rng.choice((b"%d", b"a%d.b", b"x@h%d.example")) % n for n in range(4000)),
        b"".join(b"X-%d: 1.2.3.%d a@b%d.example\n" % (n, n % 256, n) for n in range(1500)),
        b"".join(b"X-%d: v\n" % n for n in range(1100)) + b"\nbody at http://host.example/",
        b"a " * 40_000,
        b"From: " + b", ".join(b"u%d@host%d.example" % (n, n) for n in range(2000)),
        rng.randbytes(60_000),
        b"Subject: x\n\n" + rng.randbytes(60_000),
    ]
    for raw, found in zip(mails, features_of(read_batch(mails, DEFAULT)), strict=True):
        assert found == reference_features(raw, DEFAULT)
    assert max(len(view) for found in features_of(read_batch(mails, DEFAULT)) for view in found[2:]) == 1024


def test_no_feature_comes_twice() -> None:
    for found in features_of(read_batch(MUTATED, SHAPES["few buckets"])):
        assert all(len(set(view)) == len(view) for view in found)


def test_neither_the_size_of_a_batch_nor_its_order_matters() -> None:
    together = features_of(read_batch(MUTATED, DEFAULT))
    for size in (1, 7):
        batches = [read_batch(MUTATED[first : first + size], DEFAULT) for first in range(0, len(MUTATED), size)]
        assert [one for batch in batches for one in features_of(batch)] == together
    assert features_of(read_batch(MUTATED[::-1], DEFAULT))[::-1] == together


def test_shapes_that_take_turns_do_not_disturb_each_other() -> None:
    """All of them note what a mail has in the same slots."""
    alone = {name: features_of(read_batch(MAILS, shape)) for name, shape in SHAPES.items()}
    rng = random.Random(4)
    for _ in range(600):
        name = rng.choice(tuple(SHAPES))
        row = rng.randrange(len(MAILS))
        assert features_of(read_batch([MAILS[row]], SHAPES[name])) == [alone[name][row]]


def test_slots_of_an_earlier_mail_do_not_affect_one_of_another_shape() -> None:
    """The stamp 4 s of mails with 2^10 buckets looks like the stamp s of those with 2^12."""
    shape = SHAPES["few buckets"]
    larger = SHAPES["few buckets more"]
    read_batch(MAILS[:1], DEFAULT)
    read_batch(MAILS[:50], larger)
    short = [b"Subject: x\n\n%d" % number for number in range(250)]
    assert features_of(read_batch(short, shape)) == [reference_features(raw, shape) for raw in short]


def test_threads_do_not_disturb_each_other() -> None:
    alone = features_of(read_batch(MAILS, DEFAULT))
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: features_of(read_batch(MAILS, DEFAULT)), range(40)):
            assert found == alone


def test_the_stamps_of_a_mail_can_run_out() -> None:
    """With 2^26 buckets there are 63 of them before the slots are cleared."""
    shape = SHAPES["many buckets"]
    assert features_of(read_batch([MAILS[0]] * 200, shape)) == [reference_features(MAILS[0], shape)] * 200


def test_every_form_of_a_mail_has_the_same_features() -> None:
    raw = b"From: ann@example.org\nSubject: Lunch?\n\nAt noon, http://bistro.example/menu"
    forms: list[Mail] = [
        *(raw, bytearray(raw), raw.decode(), {"raw": raw}, {"text": raw}, {"raw": raw.decode()}),
        {"sender": "ann@example.org", "subject": "Lunch?", "text": "At noon, http://bistro.example/menu"},
        {"sender": "not this", "subject": "but what the message has", "text": raw.decode()},
        {"From": "ann@example.org", "Subject": "Lunch?", "text": b"At noon, http://bistro.example/menu"},
        {"text": raw, "subject": None},
    ]
    found = features_of(read_batch(forms, DEFAULT))
    assert found == [reference_features(raw, DEFAULT)] * len(forms)


@pytest.mark.parametrize("name", ["X-Stream-Bayes", "x-stream-bayes", "X-STREAM-BAYES"])
def test_the_filters_own_field_is_not_read(name: str) -> None:
    """A sender may forge it, and a mail that was delivered with it may be learned."""
    raw = b"From: ann@example.org\nSubject: Lunch?\n\nAt noon. X-Stream-Bayes: spam"
    field = f"{name}: ham; probability=0.0001;\n\taction=deliver\n log-odds=-9\n".encode()
    lines = raw.split(b"\n", 2)
    tagged = [
        field + raw,
        b"\n".join([lines[0], field + lines[1], lines[2]]),
        raw.replace(b"\n\n", b"\n" + field + b"\n"),
    ]
    assert features_of(read_batch(tagged, DEFAULT)) == [reference_features(raw, DEFAULT)] * 3
    other = raw.replace(b"\n\n", b"\nX-Stream-Bayesian: ham\n\n")
    assert features_of(read_batch([other], DEFAULT)) != features_of(read_batch([raw], DEFAULT))


def test_a_text_beyond_ascii_is_utf_8_and_may_have_lone_surrogates() -> None:
    text = "Subject: größe\n\n你好 \ud800 🎉"
    assert decode_sections(mail_bytes(text)) == (
        b"Subject: gr\xc3\xb6\xc3\x9fe\n",
        text.split("\n", 1)[1].encode("utf-8", "surrogatepass"),
    )


def test_fields_go_behind_an_envelope() -> None:
    raw = b"From ann@example.org Mon Jun 25 2001\nSubject: x\n\nbody"
    assert decode_sections(mail_bytes({"raw": raw, "X-Score": 5}))[1] == b"\nbody"


def test_a_text_that_begins_with_a_link_has_no_header() -> None:
    header, body = decode_sections(
        mail_bytes({"subject": "Look", "sender": "eve@spam.example", "text": "http://spam.example/ now"})
    )
    assert header == b"From: eve@spam.example\nSubject: Look\n"
    assert body == b"\nhttp://spam.example/ now"


def test_a_field_cannot_end_the_header() -> None:
    header, body = decode_sections(mail_bytes({"subject": "a\n\nb\r\n\r\nc", "no:such name\n": 2.5, "text": "body"}))
    assert body == b"\nbody"
    assert header.count(b"\n") == 2


@pytest.mark.parametrize("mail", [None, 5, ["a"], {"text": ["a"]}, {"text": float("nan")}, {"subject": object()}])
def test_values_that_are_no_mail_are_refused(mail: object) -> None:
    with pytest.raises(InputError):
        SpamFilter(buckets=2**10).batch([mail])  # type: ignore[list-item]


@pytest.mark.parametrize("mails", [b"a mail", "a mail", {"text": "a mail"}, None, 5])
def test_mails_that_are_no_list_are_refused(mails: object) -> None:
    with pytest.raises(InputError, match="list"):
        SpamFilter(buckets=2**10).batch(mails)  # type: ignore[arg-type]


def test_no_mail_at_all() -> None:
    batch = read_batch([], DEFAULT)
    assert (len(batch), features_of(batch)) == (0, [])
    assert (
        features_of(read_batch([b"", make_mail(random.Random(1), spam=True), b""], DEFAULT))[::2] == [[[]] * VIEWS] * 2
    )


@pytest.mark.parametrize(
    "text", ["Reminder: pay now", "Hello: how are you", "12:30 lunch?", "http://x.example", "Win cash"]
)
def test_fields_of_a_dict_are_never_lost(text: str) -> None:
    header, body = decode_sections(mail_bytes({"sender": "eve@spam.example", "subject": "Cash", "text": text}))
    assert header == b"From: eve@spam.example\nSubject: Cash\n"
    assert body == b"\n" + text.encode()


def test_a_message_overrides_the_given_fields() -> None:
    raw = b"From a@b Mon\nSubject: mine\n\nbody"
    header, _ = decode_sections(mail_bytes({"subject": "other", "sender": "eve@spam.example", "raw": raw}))
    assert header == b"From a@b Mon\nFrom: eve@spam.example\nSubject: mine\n"


def test_any_name_of_a_field_stays_one() -> None:
    header, body = decode_sections(mail_bytes({"": "x", "k" * 70: "y", "with blank": "z", "text": "body"}))
    assert header.splitlines() == [b"-: x", b"k" * 63 + b": y", b"with-blank: z"]
    assert body == b"\nbody"


def test_a_message_of_the_email_package_is_a_mail() -> None:
    """As its bytes: alone, as a field of a dict, for near-duplicates, and for what is shown of it."""
    message = EmailMessage()
    message["Subject"] = "Lunch at Müller's?"
    message["From"] = "ann@example.org"
    message.set_content("Grüße, at noon.")
    raw = message.as_bytes()
    assert mail_bytes(message) == mail_bytes({"raw": message}) == raw
    assert mail_bytes(message_from_bytes(raw)) == raw
    assert subject(message) == subject(raw) == "Lunch at Müller's?"
    assert sketch_of(message).tolist() == sketch_of(raw).tolist()
    assert message_of(message) == raw
    model = SpamFilter(buckets=2**10)
    model.learn_one(message, "ham")
    model.learn_many([message, raw], ["ham", "ham"])
    assert model.predict_proba_one(message) == model.predict_proba_one(raw)
    with pytest.raises(InputError, match="a list of messages"):
        model.learn_many(message, ["ham"])


def test_a_message_that_cannot_be_written_is_refused() -> None:
    message = Message()
    message["Subject"] = "x"
    message.set_payload(["not a part"])
    message["Content-Type"] = "multipart/mixed"
    with pytest.raises(InputError, match="cannot be written as bytes"):
        mail_bytes(message)
