"""A worker that is killed over and over: `python -m tests.chaos` (make chaos)."""
