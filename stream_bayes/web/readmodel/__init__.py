"""What the page knows, built from the log.

state_store       all of it together, behind one lock
log_follower      the thread that follows the topics
request_queue     open label requests, their leases and answers
daily_stats       the answers of one day
status_history    the worker's status over time
charts            the state as data for charts
"""
