"""The example on Kafka: one prediction for each mail, and the same figures as a filter without Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka import KafkaConsumer

from stream_bayes import SpamFilter
from stream_bayes.demo.mailbox import mailbox
from tests.support.broker import Broker, RemoteBroker
from tests.support.examples import run


@pytest.mark.broker
def test_kafka_end_to_end(broker: Broker | RemoteBroker, tmp_path: Path) -> None:
    lines = run("kafka_end_to_end", tmp_path, "--kafka", broker.address).splitlines()
    mails = {mail.id: mail for mail in mailbox(seed=1, mails=132)}
    model = SpamFilter(buckets=2**16)
    ids = list(mails)
    for mail_id in ids[:120]:
        # The labels come late, so the worker remembers these mails.
        model.learn_one(mails[mail_id].raw, mails[mail_id].label, remember=True)
    table = [line.split() for line in lines if line.startswith("mail-")]
    assert [row[0] for row in table] == [*ids[:3], *ids[120:]]
    assert [row[1:4] for row in table[:3]] == [["0", "ham", "0.5000"]] * 3
    for mail_id, learned, label, probability, action, truth in table[3:]:
        raw = mails[mail_id].raw
        assert learned == "120"
        assert float(probability) == pytest.approx(model.predict_proba_one(raw)["spam"], abs=5.1e-5)
        assert (label, action) == (model.predict_one(raw), model.decide_one(raw).action)
        assert truth == mails[mail_id].label
    assert lines[-1] == "132 predictions for 132 mails; 120 labels learned"
    # Nothing is left on the broker.
    with KafkaConsumer(bootstrap_servers=broker.address) as consumer:
        assert not [topic for topic in consumer.topics() if topic.startswith("example-")]
