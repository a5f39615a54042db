"""What the routes call.

labeling_service    the parts of the page together
log_writer          the thread that writes labels and reads observations
observation_view    an observation as a labeller reads it
checkpoint_index    which checkpoints there are
model_cache         the newest checkpoints, opened
prediction          a model's prediction for an observation
explanation         why it predicts that
posteriors          posteriors of words, features and weights
rescoring           scores of open label requests, kept up to date
"""
