"""One of each event with every field set, and the records that tests are made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from stream_bayes.events import (
    AuditFigures,
    DeadLetter,
    Event,
    Label,
    LabellerFigures,
    LabelOutcome,
    LabelRequest,
    Limits,
    Observation,
    Prediction,
    Status,
    decode,
)
from stream_bayes.records import Record, Source

LIMITS = Limits()
MOMENT = datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)
PLACE = Source("emails", 2, 7)
MAIL = b"From: a@b.example\r\nSubject: caf\xe9\r\n\r\nhello\x00\xff\r\n"
HEADERS = (("content-type", b"message/rfc822"),)

GOLDEN: dict[bytes, Event] = {
    b'{"type":"observation","id":"a","features":{"age":3,"height":1.5,"colour":"red","new":true},"label":1.0}': (
        Observation(id="a", features={"age": 3, "height": 1.5, "colour": "red", "new": True}, label=1.0)
    ),
    '{"type":"observation","id":"é","text":"hello","label":true,"at":"2026-01-31T12:00:00Z","key":"k"}'.encode(): (
        Observation(id="é", text="hello", label=True, at=MOMENT.replace(microsecond=0), key="k")
    ),
    b'{"type":"observation","id":"a","raw":"/+8+","label":"spam","subject":"s","sender":"a@b","mailbox":"inbox"}': (
        Observation(id="a", raw=b"\xff\xef>", label="spam", subject="s", sender="a@b", mailbox="inbox")
    ),
    b'{"type":"label","id":"a","label":1,"labeller":"me","at":"2026-01-31T12:00:00.250000+02:00",'
    b'"source":{"topic":"emails","partition":2,"offset":7}}': (
        Label(id="a", label=1, labeller="me", at=MOMENT.replace(tzinfo=timezone(timedelta(hours=2))), source=PLACE)
    ),
    b'{"type":"prediction","id":"a","label":"spam","probabilities":{"spam":0.75,"ham":0.25},"variance":0.1875,'
    b'"epistemic_variance":0.01,"action":"ask","source":{"topic":"emails","partition":2,"offset":7},'
    b'"model_version":5}': (
        Prediction(
            id="a",
            label="spam",
            probabilities={"spam": 0.75, "ham": 0.25},
            variance=0.1875,
            epistemic_variance=0.01,
            action="ask",
            source=PLACE,
            model_version=5,
        )
    ),
    b'{"type":"prediction","id":"a","mean":-1.5,"variance":"Infinity","epistemic_variance":0.0,'
    b'"source":{"topic":"emails","partition":2,"offset":7},"model_version":0}': (
        Prediction(id="a", mean=-1.5, variance=float("inf"), epistemic_variance=0.0, source=PLACE, model_version=0)
    ),
    b'{"type":"label-request","id":"a","score":0.2,"strategy":"variance","probabilities":{"spam":0.5,"ham":0.5},'
    b'"variance":0.25,"epistemic_variance":0.05,"interval":[0.125,0.875],"interval_of":"spam","labels":["ham","spam"],"abstain_label":"unsure","at":"2026-01-31T12:00:00.250000Z",'
    b'"expires_at":"2026-02-07T12:00:00.250000Z","budget_left":9,'
    b'"source":{"topic":"emails","partition":2,"offset":7},"key":"k","subject":"s",'
    b'"preview":"hello"}': (
        LabelRequest(
            id="a",
            score=0.2,
            strategy="variance",
            probabilities={"spam": 0.5, "ham": 0.5},
            variance=0.25,
            epistemic_variance=0.05,
            interval=(0.125, 0.875),
            interval_of="spam",
            labels=("ham", "spam"),
            abstain_label="unsure",
            at=MOMENT,
            expires_at=MOMENT + timedelta(days=7),
            budget_left=9,
            source=PLACE,
            key="k",
            subject="s",
            preview="hello",
        )
    ),
    b'{"type":"label-outcome","id":"a","outcome":"answered","label":"spam","labeller":"me","open":false,'
    b'"source":{"topic":"emails","partition":2,"offset":7},"at":"2026-01-31T12:00:00.250000Z"}': (
        LabelOutcome(id="a", outcome="answered", label="spam", labeller="me", open=False, source=PLACE, at=MOMENT)
    ),
    b'{"type":"label-outcome","id":"a","outcome":"expired","open":false,'
    b'"source":{"topic":"emails","partition":2,"offset":7},"at":"2026-01-31T12:00:00.250000Z"}': (
        LabelOutcome(id="a", outcome="expired", open=False, source=PLACE, at=MOMENT)
    ),
    b'{"type":"dead-letter","code":"not-json","message":"no","topic":"emails","partition":2,"offset":7,'
    b'"payload":"/+8+","key":"aw==","headers":[["content-type","YQ=="]],"at":"2026-01-31T12:00:00.250000Z"}': (
        DeadLetter(
            code="not-json",
            message="no",
            topic="emails",
            partition=2,
            offset=7,
            payload=b"\xff\xef>",
            key=b"k",
            headers=(("content-type", b"a"),),
            at=MOMENT,
        )
    ),
    b'{"type":"status","at":"2026-01-31T12:00:00.250000Z","group":"g","partition":2,'
    b'"started_at":"2026-01-31T12:00:00.250000Z","events_in":10,"predictions":8,"labels_learned":5,"labels_requested":4,'
    b'"labels_remaining":6,"open_requests":1,"label_outcomes":{"answered":3,"requested":4},'
    b'"audit":{"accuracy":0.75,"low":0.2,"high":0.99,"answers":4},'
    b'"labellers":{"me":{"agreement":0.5,"low":0.025,"high":0.975,"checked":0,"labels":3}},'
    b'"duplicates":1,"forwarded":2,"unknown_fields":2,"dead_letters":1,"dead_letters_by_code":{"not-json":1},"lag":3,'
    b'"stage_seconds":{"read":0.5},"metrics":{"log_loss":null,"accuracy":0.5},"calibration":[[0.25,0.5,4]],'
    b'"checkpoint_age_seconds":1.5,"checkpoint_offset":12,"model_version":5}': (
        Status(
            at=MOMENT,
            group="g",
            partition=2,
            started_at=MOMENT,
            events_in=10,
            predictions=8,
            labels_learned=5,
            labels_requested=4,
            labels_remaining=6,
            open_requests=1,
            label_outcomes={"answered": 3, "requested": 4},
            audit=AuditFigures(accuracy=0.75, low=0.2, high=0.99, answers=4),
            labellers={"me": LabellerFigures(agreement=0.5, low=0.025, high=0.975, checked=0, labels=3)},
            duplicates=1,
            forwarded=2,
            unknown_fields=2,
            dead_letters=1,
            dead_letters_by_code={"not-json": 1},
            lag=3,
            stage_seconds={"read": 0.5},
            metrics={"log_loss": None, "accuracy": 0.5},
            calibration=((0.25, 0.5, 4),),
            checkpoint_age_seconds=1.5,
            checkpoint_offset=12,
            model_version=5,
        )
    ),
}
"""Every event, by what it is in a log. Whoever changes the left side changes a public format."""


def record_of(value: bytes, key: bytes | None = None, headers: tuple[tuple[str, bytes], ...] = ()) -> Record:
    """A record with this value at `PLACE`."""
    return Record(*PLACE, 0, key, value, headers)


def observed(
    value: bytes, key: bytes | None = None, headers: tuple[tuple[str, bytes], ...] = (), limits: Limits = LIMITS
) -> Observation:
    """The observation that a record with this value is."""
    event = decode(record_of(value, key, headers), Observation, limits)
    assert isinstance(event, Observation)
    return event
