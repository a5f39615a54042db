"""Who may come in: the token, the session made of it, and how often one may be wrong."""

from __future__ import annotations

import hmac
import logging
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection
from hashlib import sha256
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil

logger = logging.getLogger("stream_bayes.web")

_MAX_FAILURES = 10
_WITHIN_SECONDS = 60.0
_BLOCKED_SECONDS = 60.0
_MAX_ADDRESSES = 1000
_IPV6_PREFIX = 64
_LONGEST_NAME = 64
_SECRET_BYTES = 24
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})

Clock = Callable[[], float]


class Authenticator:
    """What one must show to be let in, and what is accepted.

    Parameters
    ----------
    token
        What everybody must show; None: whoever reaches the page may use it.
    hosts
        The names, without ports, under which the page may be reached; None: any. Where there is no token, they keep
        out pages of other sites whose name was made to lead here.
    clock
        In seconds.
    """

    def __init__(
        self, token: str | None = None, hosts: Collection[str] | None = None, clock: Clock = time.monotonic
    ) -> None:
        self.csrf = secrets.token_urlsafe(_SECRET_BYTES)
        """What the page must send with each write; only a page of this process can have read it."""
        self.failures = FailedAttempts(clock)
        self._token = token
        self._hosts = None if hosts is None else frozenset(name.lower() for name in hosts)
        # Nobody can compute it from the token, nor use it once the process has ended.
        self.cookie = hmac.new(secrets.token_bytes(32), _digest(token or ""), sha256).hexdigest()
        """The value of the session's cookie."""

    @property
    def secured(self) -> bool:
        """Whether there is a token."""
        return self._token is not None

    def accepts(self, token: str) -> bool:
        """Whether this is the token."""
        return self._token is not None and _same(token, self._token)

    def accepts_cookie(self, value: str) -> bool:
        """Whether this is the value of the session's cookie."""
        return self._token is not None and _same(value, self.cookie)

    def accepts_csrf(self, value: str) -> bool:
        """Whether this is what the page sends with each write."""
        return _same(value, self.csrf)

    def known_as(self, name: str) -> bool:
        """Whether the page may be reached under the name of a host."""
        return self._hosts is None or name.lower() in self._hosts


class FailedAttempts:
    """Wrong tokens by address: after ten within a minute no others are counted for a minute, nor answered as such.

    The token itself is always let in: many people may share an address, and one of them must not keep out the others.

    Addresses are forgotten, the longest silent first, once there are more than a thousand.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.total = 0
        """Of all addresses, ever."""
        self._clock = clock
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._times)

    def note(self, address: str) -> None:
        """A wrong token came from there."""
        source = _source(address)
        times = self._times.setdefault(source, deque(maxlen=_MAX_FAILURES))
        times.append(self._clock())
        self.total += 1
        logger.warning("a wrong token", extra={"fields": {"address": source}})
        self._times.move_to_end(source)
        if len(self._times) > _MAX_ADDRESSES:
            self._times.popitem(last=False)

    def seconds_to_wait(self, address: str) -> int:
        """How long whoever sends a wrong token from there is told to wait; 0: not at all."""
        times = self._times.get(_source(address), deque())
        if len(times) < _MAX_FAILURES or times[-1] - times[0] > _WITHIN_SECONDS:
            return 0
        return max(ceil(times[-1] + _BLOCKED_SECONDS - self._clock()), 0)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "mail.example")]
    [True, True, True, False, False]
    """
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def hosts_of(host: str) -> frozenset[str]:
    """The names under which a page is reached that listens on the loopback interface."""
    return _LOOPBACK_NAMES | {in_url(host).lower()}


def in_url(host: str) -> str:
    """A host as it stands in an address.

    >>> in_url("::1"), in_url("localhost")
    ('[::1]', 'localhost')
    """
    return f"[{host}]" if ":" in host else host


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def _same(one: str, other: str) -> bool:
    # Digests are of one length, so that not even the length shows in the time it takes.
    return hmac.compare_digest(_digest(one), _digest(other))


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _source(address: str) -> str:
    """Whose address it is: who has one of IPv6 has all that begin alike."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:_LONGEST_NAME]
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or ip_network((int(parsed), _IPV6_PREFIX), strict=False))
