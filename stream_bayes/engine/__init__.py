"""The engine: a fold over a stream of observations and labels.

engine            plan and apply batches of events
batch_plan        what is to be done with each event of a batch
types             the results of an engine, dead letters, and the decisions that a replay repeats
model_adapter     what the engine needs of any learner
history           label history, deduplication window and observation cache
label_requests    which labels are requested, the request events, and the outcome of each request
forwarding        labels that belong to another partition
intervals         credible intervals of predictions, and labels as JSON keys
metrics           running metrics over the labelled observations
state             the state of an engine as JSON and arrays
"""

from stream_bayes.engine.engine import Engine
from stream_bayes.engine.types import BatchResult, RejectedRecord, ReplayDecisions, RequestPolicy

__all__ = ["BatchResult", "Engine", "RejectedRecord", "ReplayDecisions", "RequestPolicy"]
