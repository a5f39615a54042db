"""Writes mails to the log: at a steady pace, or as fast as the worker follows."""

from __future__ import annotations

from collections.abc import Sequence

from stream_bayes.demo.mailbox import GeneratedMail
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.eventlog.base import Log
from stream_bayes.events.codec import id_header

WARM_UP_MAILS = 20
"""Mails sent before the others: with them the worker compiles or loads its kernels."""
_LEAD_FRACTION = 0.02
"""Without a pace, the maximum lead of mails over predictions as a fraction of all, so that labels arrive in time."""
_CONTENT_TYPE = ("content-type", b"message/rfc822")


class Feeder:
    """Sends mails without their labels.

    Parameters
    ----------
    log, topic
        The log and the topic to write to.
    mails
        The mails.
    seconds
        Duration of the whole; None: as fast as the worker follows.
    """

    def __init__(
        self, log: Log, topic: str, mails: Sequence[GeneratedMail] | Sequence[Mail], seconds: float | None
    ) -> None:
        self._log = log
        self._topic = topic
        self._mails = mails
        self._rate = None if seconds is None else len(mails) / seconds
        self._started_at: float | None = None
        self.sent = 0

    @property
    def done(self) -> bool:
        """Whether all mails are sent."""
        return self.sent == len(self._mails)

    def send_warm_up(self) -> None:
        """Send the first few mails."""
        self._send(min(WARM_UP_MAILS, len(self._mails)))

    def send_due(self, now: float, predicted: int) -> None:
        """Send the mails that are due now, given the number of predictions."""
        if self._started_at is None:
            self._started_at = now
        if self._rate is None:
            due = predicted + max(int(_LEAD_FRACTION * len(self._mails)), WARM_UP_MAILS)
        else:
            due = WARM_UP_MAILS + int((now - self._started_at) * self._rate)
        self._send(min(due, len(self._mails)))

    def _send(self, up_to: int) -> None:
        if up_to <= self.sent:
            return
        for mail in self._mails[self.sent : up_to]:
            name = mail.id.encode("utf-8", "replace")
            self._log.append(self._topic, mail.raw, name, headers=(_CONTENT_TYPE, *id_header(mail.id)))
        self._log.commit({})
        self.sent = up_to
