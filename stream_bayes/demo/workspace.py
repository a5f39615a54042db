"""The folder of a demo: its log, its settings, its checkpoints, its picture."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from stream_bayes.errors import ParameterError

BUCKETS = 1 << 19
"""Enough for some thousand mails; a checkpoint is then of 36 MB, not of 200."""
OPEN_REQUESTS = 25
"""As many as the labeller has on the table."""
CHECKPOINT_SECONDS = 9.0


class Workspace:
    """Where a demo keeps what it makes.

    Parameters
    ----------
    folder
        Made if there is none; a new one among the temporary files by default. One with a demo in it is refused.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.temporary = folder is None
        self.folder = Path(tempfile.mkdtemp(prefix="stream-bayes-demo-")) if folder is None else folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.database = self.folder / "demo.db"
        self.settings = self.folder / "stream_bayes.toml"
        self.checkpoints = self.folder / "checkpoints"
        self.picture = self.folder / "learning_curve.svg"
        self.reports = self.folder / "worker.log"
        for path in (self.database, self.settings, self.checkpoints):
            if path.exists():
                message = f"{path} is there already: name another folder, or remove this one"
                raise ParameterError(message)

    @property
    def url(self) -> str:
        """The address of the log."""
        return f"sqlite:///{self.database}"

    def write_settings(self, budget: int) -> None:
        """The settings of the worker, and of whoever goes on afterwards."""
        content = f"""\
# Written by stream-bayes demo. `stream-bayes config --config {self.settings}` shows all settings there are.
log = {_quoted(self.url)}

[learner]
parameters = {{ buckets = {BUCKETS} }}

[labels]
budget = {budget}
max_open_requests = {OPEN_REQUESTS}

[commit]
milliseconds = 50

[checkpoint]
folder = {_quoted(str(self.checkpoints))}
seconds = {CHECKPOINT_SECONDS}
keep = 2

[status]
seconds = 0.5
"""
        self.settings.write_text(content, encoding="utf-8")


def _quoted(text: str) -> str:
    # A string of JSON is one of TOML.
    return json.dumps(text)
