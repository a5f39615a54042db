"""Message digest: what identifies a mail wherever it is stored, without the header fields that delivery changes.

>>> stored = b"Status: RO\\r\\nSubject: hello\\r\\n\\r\\nworld\\r\\n"
>>> message_digest(b"Subject: hello\\n\\nworld\\n") == message_digest(stored)
True
"""

from __future__ import annotations

import re
from hashlib import blake2b

DIGEST_BYTES = 16

# Fields that mail servers, spam filters and mail readers add, remove or rewrite while a message stays the same message,
# each with the lines that continue it. The message begins with a line end here. Quantifiers before a colon are
# possessive: the time grows with the length alone.
_TRACE_FIELDS = re.compile(
    rb"\n(?:re(?:ceived(?:-spf)?|turn-path)|deliver(?:ed-to|y-date)|envelope-to|authentication-results|arc-[^:\n]*+|status"
    rb"|content-length|lines|x-(?:original-to|delivered-to|status|keywords|uidl?|imap)"
    rb"|x-(?:spam-|stream-bayes|mozilla-|gmail-labels|gm-)[^:\n]*+)"
    rb"[ \t]*+:[^\n]*+(?:\n[ \t][^\n]*+)*+",
    re.IGNORECASE,
)
# A "From " at the beginning of a line, as an mbox quotes it: once, or once more each time.
_QUOTED = re.compile(rb"^>++(?=From )", re.MULTILINE)
# The "From " line of an mbox, where a header follows it.
_ENVELOPE = re.compile(rb"From [^\n]*+\n(?=[!-9;-~]++[ \t]*+:)")
_HEADER_END = b"\n\n"
# Of a larger header the rest counts as it is.
_HEADER_BYTES = 1 << 20


def message_digest(raw: bytes) -> bytes:
    """Digest of a raw message that is stable over storing, moving and renaming it.

    Line endings, empty lines at the end, the "From " line of an mbox before the header, every ">" right before a
    "From " that begins a line, and the trace fields of the header do not count. Of a text that has no header everything
    else counts, also a first line that looks like a field.
    """
    # Looking for one byte first is ten times as quick as looking for two.
    message = raw.replace(b"\r\n", b"\n") if b"\r" in raw else raw
    if b">From " in message:
        message = _QUOTED.sub(b"", message)
    if envelope := _ENVELOPE.match(message):
        message = message[envelope.end() :]
    header_end = message.find(_HEADER_END)
    message = message.rstrip(b"\n")
    if header_end < 0:
        return blake2b(message, digest_size=DIGEST_BYTES).digest()
    header_end = min(header_end, _HEADER_BYTES)
    header = _TRACE_FIELDS.sub(b"", b"\n" + message[:header_end])
    if not header and header_end >= len(message):
        # Nothing but trace fields: without them all such messages would be one.
        header = b"\n" + message
    digest = blake2b(header[1:], digest_size=DIGEST_BYTES)
    digest.update(memoryview(message)[header_end:])
    return digest.digest()


def message_id_of(raw: bytes) -> str:
    """Id of a mail that comes from a file or a mail server: its digest in hexadecimal digits."""
    return message_digest(raw).hex()
