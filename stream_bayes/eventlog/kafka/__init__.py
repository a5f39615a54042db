"""Log on a Kafka cluster.

log                  KafkaLog
consumer             GroupConsumer: consumer group member, with its partitions and positions
time_merge           records of several topics merged by their timestamps
reader               PartitionReader: reads of single partitions
writer               TransactionalWriter: appends and commits
transactions         one attempt of a transaction, and its timeout
open_transactions    OpenTransactions: open and hanging transactions in partitions
topics               topics, their partitions, settings and offsets
connection           clients of a cluster
security             client options for TLS and SASL, and reasons of refusals
instance_id          InstanceIdLease: an instance id that a restarted worker gets again
codecs               compression codecs that are missing here
error_mapping        errors of the client as errors of a log
client_workarounds   all that needs private parts of the client
"""

from stream_bayes.eventlog.kafka.log import KafkaLog

__all__ = ["KafkaLog"]
