"""The runtime: a worker that runs engines on the partitions of a log, with exactly-once processing.

worker                 the loop: poll, process, commit
poller                 the records of one commit
partition_processor    the processing of one partition: decode, plan, fetch, apply, stage
journal                the record of each commit: inputs and decisions
recovery               load checkpoint, replay journal, verify positions
rebalance              the processors of the assigned partitions
checkpointing          when a checkpoint is taken, and by which threads
retention              removal of old records
monitoring             status events and progress lines
topics                 checks and partition counts of the topics
logging                log lines as text or JSON
"""

from stream_bayes.runtime.worker import Worker

__all__ = ["Worker"]
