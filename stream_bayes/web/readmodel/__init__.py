"""The state of the page, built from the log.

state_store      the whole state behind one lock
log_follower     the thread that follows the topics
request_queue    label requests, leases and submitted labels
statistics       the labels of one day, and the worker's status over time
charts           the state as data for charts
"""
