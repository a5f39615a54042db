"""Services that the routes call.

labelling_service   leases label requests, writes labels, reports status; owns the store, the models and the threads
log_writer          the thread that writes labels to the log and reads observations from it
observation_view    a label request as a labeller reads it
model_cache         the models of the newest checkpoints, and an index of these
prediction          a prediction with its interval and explanation
posteriors          posterior densities of words, features and weights
rescoring           the thread that rescores open label requests
"""
