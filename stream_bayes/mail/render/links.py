"""Where a link really leads: its host as a browser would find it, and an address that means nothing else."""

from __future__ import annotations

import re
import unicodedata
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin

from stream_bayes.mail.render.sanitize import HIDDEN

_LONGEST_URL = 4000
_LONGEST_BASE = 300
_LONGEST_WRITTEN = 2000
_LONGEST_HOST = 253
_LONGEST_LABEL = 63
_ENDS = "".join(map(chr, range(33)))
_WITHIN = re.compile(r"[\t\n\r]")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*+):")
# Browsers take any slashes, also none and backslashes, and the part before the last @ as a user's name.
_WEB = re.compile(r"(https?):[/\\]*+([^/\\?#]*+)([^?#]*+)(.*)", re.IGNORECASE | re.DOTALL)
_MAIL = re.compile(r"mailto:([^?]*@([^?@,;]++))", re.IGNORECASE)
_HOST_AND_PORT = re.compile(r"(\[[^\]]*+\]|[^:]*+)(?::([0-9]*+))?+")
_SAFE = "!#$%&'()*+,/:;=?@[]~"
_DEFAULT_PORTS = {"http": "80", "https": "443"}
# What the mapping of names (UTS 46) leaves out and what it takes for a dot.
_IGNORED = re.compile("[\xad\u034f\u180b-\u180d\u180f\u200b\u2060\u2064\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]")
_DOTS = re.compile("[\u3002\uff0e\uff61]")
_PLAIN = re.compile(r"[a-z0-9_-]+")
_STRANGE = re.compile(rf"[\x00-,/:-@\[-^`{{-\x7f\s\ufffd{HIDDEN}]")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")


class Target(NamedTuple):
    """The target of a link."""

    scheme: str
    """Empty if the link names none or leads nowhere."""
    host: str | None
    url: str | None
    """In ASCII and without a user's name, so that no browser can take another host from it; only http and https."""
    address: str = ""
    """The recipient of a link that writes a mail, as it is written."""


def target(href: str, base: str = "") -> Target:
    """Where a link leads.

    >>> target("http://paypal.com@evil.example/pay")
    Target(scheme='http', host='evil.example', url='http://evil.example/pay', address='')
    >>> target("java\\nscript:alert(1)")
    Target(scheme='javascript', host=None, url=None, address='')
    """
    text = _resolved(href, base)
    found = _SCHEME.match(text)
    if not found:
        return Target("", None, None)
    scheme = found[1].lower()
    if scheme == "mailto":
        mail = _MAIL.match(text)
        return Target(scheme, _host(mail[2]), None, mail[1]) if mail else Target(scheme, None, None)
    web = _WEB.match(text)
    return _web(scheme, web[2], web[3].replace("\\", "/") + web[4]) if web else Target(scheme, None, None)


def base_of(href: str) -> str:
    """The address that links without a host are relative to; empty if it cannot be used."""
    found = target(href)
    return found.url if found.url and len(found.url) <= _LONGEST_BASE else ""


def _resolved(href: str, base: str) -> str:
    text = _WITHIN.sub("", href.strip(_ENDS))
    if _SCHEME.match(text):
        return text
    if re.match(r"[/\\]{2}", text):
        return f"http:{text}"
    if text[:4].lower() == "www.":
        return f"http://{text}"
    return _joined(base, text) if base else text


def _joined(base: str, text: str) -> str:
    try:
        return urljoin(base, text.replace("\\", "/"))
    except ValueError:
        return text


def _web(scheme: str, authority: str, rest: str) -> Target:
    found = _HOST_AND_PORT.fullmatch(authority.rpartition("@")[2])
    host = _host(found[1]) if found else None
    if not found or host is None or len(found[2] or "") > 5 or int(found[2] or 0) > 65535:
        return Target(scheme, None, None)
    if len(rest) > _LONGEST_URL:
        # Quoting never makes it shorter.
        return Target(scheme, host, None)
    port = f":{int(found[2])}" if found[2] and found[2] != _DEFAULT_PORTS[scheme] else ""
    path = quote(rest, safe=_SAFE, errors="replace")
    name = f"[{host}]" if ":" in host else host
    url = f"{scheme}://{name}{port}{path if path[:1] == '/' else f'/{path}'}"
    return Target(scheme, host, url if len(url) <= _LONGEST_URL else None)


def _host(text: str) -> str | None:
    """The host as browsers write it: in ASCII, in lower case, numbers as addresses; none if it cannot be one."""
    if text[:1] == "[":
        return _address(text[1:-1])
    if len(text) > _LONGEST_WRITTEN:
        return None
    text = _IGNORED.sub("", unquote(text))
    text = unicodedata.normalize("NFKC", "".join(map(_folded, text)))
    labels = _DOTS.sub(".", text).removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _numbers(labels)
    plain = [_label(label) for label in labels]
    host = ".".join(filter(None, plain))
    return host if all(plain) and len(host) <= _LONGEST_HOST else None


def _folded(character: str) -> str:
    """In lower case, but for two letters that stay as they are (UTS 46, without transition); unknown ones as U+FFFD."""
    if character in "ßẞς":
        return character.lower()
    known = unicodedata.category(character) != "Cn"
    return unicodedata.normalize("NFKC", character).casefold() if known else "\ufffd"


def _label(label: str) -> str:
    if _PLAIN.fullmatch(label):
        return label if len(label) <= _LONGEST_LABEL else ""
    if not label or len(label) > _LONGEST_LABEL or _STRANGE.search(label):
        return ""
    coded = f"xn--{label.encode('punycode').decode('ascii')}"
    return coded if len(coded) <= _LONGEST_LABEL else ""


def _numbers(labels: list[str]) -> str | None:
    """An address of up to four numbers, the last of which fills the rest: decimal, octal or hexadecimal."""
    if len(labels) > 4 or not all(_NUMBER.fullmatch(label) and len(label) < 20 for label in labels):
        return None
    try:
        *first, last = (_number(label) for label in labels)
    except ValueError:
        return None
    if any(number > 255 for number in first) or last >= 256 ** (4 - len(first)):
        return None
    return str(IPv4Address(sum(number << (24 - 8 * place) for place, number in enumerate(first)) + last))


def _number(label: str) -> int:
    if label[:2] == "0x":
        return int(label[2:] or "0", 16)
    return int(label, 8) if label[0] == "0" else int(label)


def _address(text: str) -> str | None:
    try:
        return str(IPv6Address(text)) if "%" not in text else None
    except AddressValueError:
        return None
