"""Authentication: the token, the session cookie, the CSRF token, allowed hosts and failed attempts."""

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
    """Checks tokens, session cookies, CSRF tokens and host names.

    Parameters
    ----------
    token
        The token of the page. None: whoever reaches the page may use it.
    hosts
        The host names, without ports, of the page. None: any. Without a token they protect against DNS rebinding.
    clock
        In seconds.
    """

    def __init__(
        self, token: str | None = None, hosts: Collection[str] | None = None, clock: Clock = time.monotonic
    ) -> None:
        self.csrf = secrets.token_urlsafe(_SECRET_BYTES)
        """The CSRF token that the page sends with each write. Only a page of this process can read it."""
        self.failures = FailedAttempts(clock)
        self._token = token
        self._hosts = None if hosts is None else frozenset(name.lower() for name in hosts)
        # It cannot be computed from the token, and is invalid after the process has ended.
        self.cookie = hmac.new(secrets.token_bytes(32), _digest(token or ""), sha256).hexdigest()
        """The value of the session cookie."""

    @property
    def secured(self) -> bool:
        """Whether there is a token."""
        return self._token is not None

    def accepts(self, token: str) -> bool:
        """Whether this is the token."""
        return self._token is not None and _same(token, self._token)

    def accepts_cookie(self, value: str) -> bool:
        """Whether this is the value of the session cookie."""
        return self._token is not None and _same(value, self.cookie)

    def accepts_csrf(self, value: str) -> bool:
        """Whether this is the CSRF token."""
        return _same(value, self.csrf)

    def accepts_host(self, name: str) -> bool:
        """Whether the page may be reached under a host name."""
        return self._hosts is None or name.lower() in self._hosts


class FailedAttempts:
    """Rate limit of wrong tokens by address: after ten within a minute the address must wait for a minute.

    The right token is always accepted: many people may share an address.

    At most a thousand addresses are kept. The least recent are dropped first.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.total = 0
        """Failures of all addresses since the start."""
        self._clock = clock
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._times)

    def add(self, address: str) -> None:
        """Count a wrong token from an address."""
        source = _source(address)
        times = self._times.setdefault(source, deque(maxlen=_MAX_FAILURES))
        times.append(self._clock())
        self.total += 1
        logger.warning("a wrong token", extra={"fields": {"address": source}})
        self._times.move_to_end(source)
        if len(self._times) > _MAX_ADDRESSES:
            self._times.popitem(last=False)

    def seconds_to_wait(self, address: str) -> int:
        """Return the seconds that an address must wait after a wrong token. 0: no wait."""
        times = self._times.get(_source(address), deque())
        if len(times) < _MAX_FAILURES or times[-1] - times[0] > _WITHIN_SECONDS:
            return 0
        return max(ceil(times[-1] + _BLOCKED_SECONDS - self._clock()), 0)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "mail.example")]
    [True, True, True, False, False]
    """
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def hosts_of(host: str) -> frozenset[str]:
    """Return the host names of a page that listens on the loopback interface."""
    return _LOOPBACK_NAMES | {in_url(host).lower()}


def in_url(host: str) -> str:
    """Return a host as it is written in a URL.

    >>> in_url("::1"), in_url("localhost")
    ('[::1]', 'localhost')
    """
    return f"[{host}]" if ":" in host else host


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def _same(one: str, other: str) -> bool:
    # Digests have one length, so that the time does not reveal the length either.
    return hmac.compare_digest(_digest(one), _digest(other))


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _source(address: str) -> str:
    """Return the address to count by. An IPv6 client owns the whole prefix."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:_LONGEST_NAME]
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or ip_network((int(parsed), _IPV6_PREFIX), strict=False))
