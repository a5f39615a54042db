"""Checkpoints: the state of an engine and the place in the journal it stands for, as one value in one file.

A checkpoint is a safetensors file like a learner's snapshot (`stream_bayes.snapshot`), written whole or not at all. Its
number is the offset of the first journal record that it does not contain.
"""

from __future__ import annotations

from stream_bayes.checkpoint.files import CHECKPOINT, Checkpoint, read_checkpoint
from stream_bayes.checkpoint.folder import CheckpointFolder
from stream_bayes.checkpoint.saver import BackgroundSaver

__all__ = ["CHECKPOINT", "BackgroundSaver", "Checkpoint", "CheckpointFolder", "read_checkpoint"]
