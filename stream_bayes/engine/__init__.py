"""The engine: a fold over a stream of observations and labels.

engine            plan and apply batches of events
batch_plan        what is to be done with each event of a batch
types             the results of an engine, dead letters, and the decisions that a replay repeats
model_adapter     what the engine and the page need of any learner
explanation       contributions of features to a prediction, by leaving each out
named_posteriors  posteriors of features and weights by their names
history           label history, deduplication window and observation cache
label_requests    which labels are requested, the request events, and the outcome of each request
forwarding        labels that belong to another partition
intervals         credible intervals of predictions
metrics           running metrics over the labelled observations
state             the state of an engine as JSON and arrays
"""

from stream_bayes.engine.engine import Engine
from stream_bayes.engine.types import BatchResult, RejectedRecord, ReplayDecisions, RequestPolicy

__all__ = ["BatchResult", "Engine", "RejectedRecord", "ReplayDecisions", "RequestPolicy"]
