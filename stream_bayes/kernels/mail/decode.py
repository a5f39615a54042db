"""Light MIME decoding: the bytes of one mail as the text a reader would see, without trusting what it says of itself.

One pass over lines. Headers are copied as they are; a part that is base64 or quoted-printable is decoded when it is
text, and of one that is not only the first characters are kept. Charsets stay bytes. A part begins where a line that
starts with two dashes is followed by fields, one of the first of them "content-...", so that boundaries need not be
declared, nested ones included. Whatever the mail holds, no byte is looked at more than a few times.
"""

from __future__ import annotations

import numpy as np

from stream_bayes.kernels.common.jit import kernel
from stream_bayes.kernels.common.words import Bytes

# Of one mail: what is kept of it at most, and how many bytes are looked at for each that is wanted.
MAX_TEXT = 16_000
RAW_A_BYTE = 4
MAX_RAW = RAW_A_BYTE * MAX_TEXT
# What is kept of an attachment: enough to know its kind by.
MAX_OPAQUE = 64
LONGEST_NAME = 64
# The header of a part is looked at so far for a field that tells what the part is.
MAX_FIELDS_AHEAD = 8

PLAIN = 0
BASE64 = 1
QUOTED = 2
NEWLINE = 10
RETURN = 13
TAB = 9
SPACE = 32
COLON = 58
DASH = 45
EQUALS = 61
SLASH = 47
CAPITAL_F = 70

ENCODING = np.frombuffer(b"content-transfer-encoding:", np.uint8)
TYPE = np.frombuffer(b"content-type:", np.uint8)
CONTENT = np.frombuffer(b"content-", np.uint8)
ENVELOPE = np.frombuffer(b"from ", np.uint8)
# What the filter itself writes into a mail: a sender could forge it, and a delivered mail that is learned has it.
OWN_FIELD = np.frombuffer(b"x-stream-bayes:", np.uint8)


def _values(characters: bytes) -> Bytes:
    """Which of these characters a byte is; 255 where it is none."""
    table = np.full(256, 255, np.uint8)
    table[np.frombuffer(characters, np.uint8)] = np.arange(len(characters))
    return table


def _names() -> Bytes:
    """The lower case of what may stand in the name of a header field, 0 for anything else."""
    table = np.zeros(256, np.uint8)
    table[33:127] = np.frombuffer(bytes(range(33, 127)).lower(), np.uint8)
    table[COLON] = 0
    return table


SIXTY_FOUR = _values(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
HEXADECIMAL = np.minimum(_values(b"0123456789ABCDEF"), _values(b"0123456789abcdef"))
NAME = _names()


@kernel
def begins_with(raw: Bytes, place: int, end: int, word: Bytes) -> bool:
    """Whether this word, in lower case, stands here in any case."""
    if end - place < len(word):
        return False
    for i in range(len(word)):
        byte = raw[place + i]
        if (byte | 32 if 65 <= byte <= 90 else byte) != word[i]:
            return False
    return True


@kernel
def name_end(raw: Bytes, begin: int, end: int) -> int:
    """The position of the colon of the header field that begins here; -1 if none does."""
    place = begin
    while place < end and place - begin < LONGEST_NAME and NAME[raw[place]] != 0:
        place += 1
    if not begin < place < end or raw[place] != COLON:
        return -1
    # A link is no field.
    return -1 if place + 1 < end and raw[place + 1] == SLASH else place


@kernel
def _is_blank(byte: int) -> bool:
    return byte in (SPACE, TAB)


@kernel
def _first_letter(raw: Bytes, place: int) -> int:
    """The first letter of a field's value, which may begin on the next line."""
    while place < len(raw):
        folded = raw[place] == NEWLINE and place + 1 < len(raw) and _is_blank(raw[place + 1])
        if not folded and not _is_blank(raw[place]) and raw[place] != RETURN:
            return int(raw[place] | 32)
        place += 1
    return 0


@kernel
def _describe(raw: Bytes, begin: int, end: int, encoding: int, is_text: bool) -> tuple[int, bool]:
    """How the part is encoded and whether it is text, after this line of its header."""
    if begins_with(raw, begin, end, ENCODING):
        letter = _first_letter(raw, begin + len(ENCODING))
        return BASE64 if letter == 98 else QUOTED if letter == 113 else PLAIN, is_text
    if begins_with(raw, begin, end, TYPE):
        letter = _first_letter(raw, begin + len(TYPE))
        return encoding, letter in (116, 109, 0)  # text, multipart, message
    return encoding, is_text


@kernel
def _copy(raw: Bytes, begin: int, end: int, text: Bytes, length: int) -> int:
    count = min(end - begin, len(text) - length)
    source = raw[begin : begin + count]
    target = text[length : length + count]
    for i in range(len(source)):
        target[i] = source[i]
    return length + count


@kernel
def _unquote(raw: Bytes, begin: int, end: int, text: Bytes, length: int) -> int:
    """Decode a line of quoted-printable; one that ends in = goes on in the next."""
    place = begin
    while place < end and length < len(text):
        byte = raw[place]
        if byte == EQUALS:
            if place + 1 >= end:
                return length
            if place + 2 < end and HEXADECIMAL[raw[place + 1]] < 16 and HEXADECIMAL[raw[place + 2]] < 16:
                byte = np.uint8(HEXADECIMAL[raw[place + 1]] << 4 | HEXADECIMAL[raw[place + 2]])
                place += 2
        text[length] = byte
        length += 1
        place += 1
    if length < len(text):
        text[length] = NEWLINE
        length += 1
    return length


@kernel
def _decode_base64(raw: Bytes, begin: int, end: int, text: Bytes, length: int, carry: int) -> tuple[int, int]:
    """Decode a line of base64; the carry is a one and then the bits that do not fill a byte yet."""
    for place in range(begin, end):
        value = int(SIXTY_FOUR[raw[place]])
        if value > 63:
            continue
        carry = carry << 6 | value
        if carry >= 256:
            rest = 4 if carry >= 1 << 12 else 2 if carry >= 1 << 10 else 0
            if length < len(text):
                text[length] = carry >> rest & 255
                length += 1
            carry = 1 << rest | (carry & ((1 << rest) - 1))
    return length, carry


@kernel
def line_end(raw: Bytes, place: int, end: int) -> int:
    """The position of the newline of this line, or the end."""
    while place < end and raw[place] != NEWLINE:
        place += 1
    return place


@kernel
def _is_header(raw: Bytes, begin: int, end: int) -> bool:
    """Whether a line can belong to a header: a field, the continuation of one, or an envelope in front of all."""
    if _is_blank(raw[begin]):
        return begin > 0
    envelope = begin == 0 and raw[0] == CAPITAL_F and begins_with(raw, begin, end, ENVELOPE)
    return name_end(raw, begin, end) >= 0 or envelope


@kernel
def _part_begins(raw: Bytes, place: int) -> bool:
    """Whether the header of a part begins here: fields, and one of the first tells what the part is."""
    for _ in range(MAX_FIELDS_AHEAD):
        if begins_with(raw, place, len(raw), CONTENT):
            return True
        end = line_end(raw, place, len(raw))
        if place >= end or not (_is_blank(raw[place]) or name_end(raw, place, end) >= 0):
            return False
        place = end + 1
    return False


@kernel
def _write_line(
    raw: Bytes, line: tuple[int, int], text: Bytes, length: int, encoding: int, is_text: bool, carry: int, kept: int
) -> tuple[int, int, int]:
    """Append a line of an encoded part; returns the length, the bits left over, and what was kept of an attachment."""
    place, end = line
    if not is_text:
        until = min(end, place + MAX_OPAQUE - kept)
        return _copy(raw, place, until, text, length), carry, kept + max(until - place, 0)
    if encoding == QUOTED:
        return _unquote(raw, place, end, text, length), carry, kept
    length, carry = _decode_base64(raw, place, end, text, length, carry)
    return length, carry, kept


@kernel
def decode_mail(raw: Bytes, text: Bytes) -> tuple[int, int]:
    """Write the text of a mail without the filter's own field; returns its length, and that of the header before it."""
    place = 0
    length = 0
    header_end = -1
    carry = 1
    kept = 0
    in_header = True
    in_own_field = False
    is_text = True
    encoding = PLAIN
    while place < len(raw) and length < len(text):
        end = line_end(raw, place, len(raw))
        following = min(end + 1, len(raw))
        end -= end > place and raw[end - 1] == RETURN
        if in_header and (end == place or (header_end < 0 and not _is_header(raw, place, end))):
            in_header = False
            carry = 1
            kept = 0
            header_end = length if header_end < 0 else header_end
            if end == place:
                length = _copy(raw, following - 1, following, text, length)
                place = following
            continue
        if header_end < 0:
            in_own_field = (in_own_field and _is_blank(raw[place])) or begins_with(raw, place, end, OWN_FIELD)
            if in_own_field:
                place = following
                continue
        if not in_header and end - place > 4 and raw[place] == DASH and raw[place + 1] == DASH:
            in_header = _part_begins(raw, following)
            if in_header or encoding == BASE64:  # which has no dashes: its part is over
                is_text = True
                encoding = PLAIN
        if in_header:
            encoding, is_text = _describe(raw, place, end, encoding, is_text)
        if in_header or encoding == PLAIN:
            length = _copy(raw, place, following, text, length)
        else:
            length, carry, kept = _write_line(raw, (place, end), text, length, encoding, is_text, carry, kept)
        place = following
    return length, length if header_end < 0 else header_end
