"""Soaks: two million events (`python -m tests.soak`), a million bad records (`python -m tests.soak.fuzz_events`)."""
