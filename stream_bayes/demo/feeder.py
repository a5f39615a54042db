"""Mails into the log: at a steady pace, or as fast as the worker follows."""

from __future__ import annotations

from collections.abc import Sequence

from stream_bayes.demo.mailbox import GeneratedMail
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.eventlog.base import Log
from stream_bayes.events.identity import id_header

FIRST = 20
"""Mails that are sent before the flow begins: with them the worker compiles or loads its kernels."""
_AHEAD = 0.02
"""Without a pace mails are ahead of their predictions by this share of all: labels are to come in time to be of use."""
_CONTENT_TYPE = ("content-type", b"message/rfc822")


class Feeder:
    """Sends mails without their labels.

    Parameters
    ----------
    log, topic
        Where to.
    mails
        What.
    seconds
        How long it is to take; None: as fast as the worker follows.
    """

    def __init__(
        self, log: Log, topic: str, mails: Sequence[GeneratedMail] | Sequence[Mail], seconds: float | None
    ) -> None:
        self._log = log
        self._topic = topic
        self._mails = mails
        self._rate = None if seconds is None else len(mails) / seconds
        self._began: float | None = None
        self.sent = 0

    @property
    def done(self) -> bool:
        """Whether all are sent."""
        return self.sent == len(self._mails)

    def send_first(self) -> None:
        """The few before the flow."""
        self._send(min(FIRST, len(self._mails)))

    def send_due(self, now: float, answered: int) -> None:
        """Those that are due at this time, when so many have been predicted."""
        if self._began is None:
            self._began = now
        if self._rate is None:
            due = answered + max(int(_AHEAD * len(self._mails)), FIRST)
        else:
            due = FIRST + int((now - self._began) * self._rate)
        self._send(min(due, len(self._mails)))

    def _send(self, up_to: int) -> None:
        if up_to <= self.sent:
            return
        for mail in self._mails[self.sent : up_to]:
            name = mail.id.encode("utf-8", "replace")
            self._log.append(self._topic, mail.raw, name, headers=(_CONTENT_TYPE, *id_header(mail.id)))
        self._log.commit({})
        self.sent = up_to
