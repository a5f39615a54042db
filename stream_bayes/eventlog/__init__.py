"""Event logs: topics of records in partitions, read by consumer groups, written in transactions.

base         Log: the contract of every log
factory      open_log: a log by its address
retry        RetryingLog: retries calls that fail for a while
validation   checks of arguments, and errors that all logs share
memory       MemoryLog, for tests
sqlite       SqliteLog: one file that several processes share
kafka        KafkaLog: a Kafka cluster
"""
