"""Message digest: what identifies a mail wherever it is stored, without the header fields that delivery changes.

>>> stored = b"Status: RO\\r\\nSubject: hello\\r\\n\\r\\nworld\\r\\n"
>>> message_digest(b"Subject: hello\\n\\nworld\\n") == message_digest(stored)
True
"""

from __future__ import annotations

from hashlib import blake2b

DIGEST_BYTES = 16

# Fields that mail servers, spam filters and mail readers add, remove or rewrite while a message stays the same message.
_TRACE_FIELDS = frozenset(
    b"received received-spf return-path delivered-to delivery-date envelope-to x-original-to authentication-results "
    b"status x-status x-keywords x-uid x-uidl x-imap content-length lines".split()
)
_TRACE_PREFIXES = (b"x-spam-", b"x-stream-bayes", b"x-mozilla-")
_HEADER_END = b"\n\n"
_ENVELOPE_LINES = (b"From ", b">From ")


def message_digest(raw: bytes) -> bytes:
    """Digest of a raw message that is stable over storing, moving and renaming it.

    Line endings, empty lines at the end, the "From " line of an mbox before the header, and the trace fields of the
    header do not count.
    """
    message = raw.replace(b"\r\n", b"\n").rstrip(b"\n")
    if message.startswith(_ENVELOPE_LINES):
        message = message.partition(b"\n")[2]
    header, separator, body = message.partition(_HEADER_END)
    digest = blake2b(b"\n".join(_stable_lines(header)), digest_size=DIGEST_BYTES)
    digest.update(separator)
    digest.update(body)
    return digest.digest()


def message_id_of(raw: bytes) -> str:
    """Id of a mail that comes from a file or a mail server: its digest in hexadecimal digits."""
    return message_digest(raw).hex()


def _stable_lines(header: bytes) -> list[bytes]:
    """Lines of the header but for those of trace fields, which a folded field continues after a blank."""
    stable = []
    is_trace = False
    for line in header.split(b"\n"):
        if line[:1] not in (b" ", b"\t"):
            name = line.partition(b":")[0].rstrip().lower()
            is_trace = name in _TRACE_FIELDS or name.startswith(_TRACE_PREFIXES)
        if not is_trace:
            stable.append(line)
    return stable
