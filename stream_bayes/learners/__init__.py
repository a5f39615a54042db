"""Stateful learners that take one event at a time, each a river estimator."""
