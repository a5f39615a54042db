"""Logs: topics of records in partitions, read by groups, written in transactions."""
