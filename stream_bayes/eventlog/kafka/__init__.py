"""The log on a Kafka cluster: what an operator's mails are in already."""

from stream_bayes.eventlog.kafka.log import KafkaLog

__all__ = ["KafkaLog"]
