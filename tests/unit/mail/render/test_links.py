from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stream_bayes.mail.render.links import Target, base_of, target


# What `new URL(href).hostname` says in Chromium.
@pytest.mark.parametrize(
    ("href", "host"),
    [
        ("http://paypal.com@evil.example/", "evil.example"),
        ("http://a:b:c@d.example:1/", "d.example"),
        ("http://a@b@c.example/", "c.example"),
        ("http://good.example\\@evil.example/", "good.example"),
        ("http://good.example#@evil.example/", "good.example"),
        ("http://good.example?@evil.example/", "good.example"),
        ("http:evil.example", "evil.example"),
        ("http:/evil.example", "evil.example"),
        ("https:\\\\evil.example\\x", "evil.example"),
        ("https:///evil.example/", "evil.example"),
        ("ht\ntp://ev\til.example/\r", "evil.example"),
        ("\x01 http://evil.example \x02", "evil.example"),
        ("HTTP://EVIL.Example.", "evil.example"),
        ("http://%65vil%2eexample/", "evil.example"),
        ("http://evil。example/", "evil.example"),
        ("http://ｅｖｉｌ．example/", "evil.example"),
        ("http://ev\u00adil\u200b.example", "evil.example"),
        ("http://\u0430\u0440\u0440\u04cf\u0435.com", "xn--80ak6aa92e.com"),
        ("http://пример.рф/путь", "xn--e1afmkfd.xn--p1ai"),
        ("http://faß.de/", "xn--fa-hia.de"),
        ("http://FAẞ.de/", "xn--fa-hia.de"),
        ("http://\u03f2.gr/", "xn--4xa.gr"),
        ("http://ΣΑΣ.gr", "xn--mxa9ab.gr"),
        ("http://😀.ws/", "xn--e28h.ws"),
        ("http://3232235777/", "192.168.1.1"),
        ("http://0xC0A80101/", "192.168.1.1"),
        ("http://0300.0250.1.1/", "192.168.1.1"),
        ("http://192.168.257", "192.168.1.1"),
        ("http://１２７.0.0.1", "127.0.0.1"),
        ("http://0x", "0.0.0.0"),
        ("http://[::FFFF:1.2.3.4]:80/x", "::ffff:102:304"),
        ("http://localhost:8080", "localhost"),
    ],
)
def test_hosts(href: str, host: str) -> None:
    found = target(href)
    assert found.host == host
    assert found.url
    assert urlsplit(found.url).hostname == host


@pytest.mark.parametrize(
    "href",
    [
        "http://",
        "http:///",
        "http://.",
        "http://a..b/",
        "http://a b.example/",
        "http://1.2.3.4.5/",
        "http://256.1.1.1",
        "http://08.1",
        "http://evil.example:99999",
        "http://evil.example:8a",
        "http://[::1%25eth]/",
        "http://[1::2",
        "http://[fe80::1]x/",
        "http://a℀b.example",
        "http://a：80",
        "http://a%00b/",
        "http://a%2fb/",
        "http://a<b>/",
        "http://ev\u202eil.example",
        "http://ev\u200dil.example",
        "http://ev\u0378il.example",
        "http://\ud800.example",
        "http://" + "a" * 64 + ".example",
        "http://" + "ä" * 64 + ".example",
        "http://" + "a." * 130 + "example",
        "http://" + "\xad" * 3000 + "evil.example",
    ],
)
def test_no_hosts(href: str) -> None:
    assert target(href) == Target("http", None, None)


@pytest.mark.parametrize(
    ("href", "scheme", "host"),
    [
        ("javascript:alert(1)", "javascript", None),
        ("\x00 JaVa\tScRiPt:alert(1)", "javascript", None),
        ("data:text/html,<script>", "data", None),
        ("vbscript:x", "vbscript", None),
        ("file:///etc/passwd", "file", None),
        ("blob:https://a.example/1", "blob", None),
        ("view-source:http://a.example", "view-source", None),
        ("mailto:Joe@Example.ORG?subject=a@b", "mailto", "example.org"),
        ("mailto:?subject=x", "mailto", None),
        ("java\x00script:alert(1)", "", None),
        ("login.php", "", None),
        ("", "", None),
    ],
)
def test_links_that_are_never_opened(href: str, scheme: str, host: str | None) -> None:
    assert target(href)[:3] == (scheme, host, None)


def test_the_address_of_a_mail_is_kept_as_it_is_written() -> None:
    assert target("mailto:Joe@Example.ORG?subject=a@b").address == "Joe@Example.ORG"


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("http://u:p@a.example:80/x", "http://a.example/x"),
        ("https://a.example:08443?q", "https://a.example:8443/?q"),
        ("http://a.example\\b\\c?d\\e", "http://a.example/b/c?d%5Ce"),
        ('http://a.example/a b"<>é\u202e%41', "http://a.example/a%20b%22%3C%3E%C3%A9%E2%80%AE%41"),
        ("www.a.example/x", "http://www.a.example/x"),
        ("//a.example/x", "http://a.example/x"),
        ("\\\\a.example\\x", "http://a.example/x"),
        ("http://a.example/" + "x" * 5000, None),
    ],
)
def test_addresses(href: str, url: str | None) -> None:
    found = target(href)
    assert found.url == url
    assert found.host


def test_relative_links_lead_to_the_base() -> None:
    base = base_of("https://base.example/mail/index")
    assert target("login", base).url == "https://base.example/mail/login"
    assert target("/login", base).host == "base.example"
    assert target("//[", base) == Target("http", None, None)
    assert target("javascript:x", base).url is None
    assert base_of("javascript:x") == ""
    assert base_of("https://base.example/" + "x" * 400) == ""


@pytest.mark.slow
@given(st.text(st.characters(categories=("Ll", "Lo"), max_codepoint=0x5FF), min_size=1, max_size=15))
def test_names_in_ascii_are_those_of_the_standard_library(label: str) -> None:
    assume(not set(label) & set("ßς"))
    try:
        expected = f"{label}.example".encode("idna").decode("ascii")
    except UnicodeError:
        return
    assert target(f"http://{label}.example").host == expected


@given(
    st.sampled_from(["http:", "https://", "http:\\\\", "//", "www.", "", "javascript:"]),
    st.text() | st.text("ab1.0x:@/\\?#[]%-é漢。\u200b\xad\t", max_size=30),
    st.sampled_from(["", "https://base.example/a/"]),
)
def test_the_host_is_that_of_a_url_parser(scheme: str, rest: str, base: str) -> None:
    found = target(scheme + rest, base)
    if found.url:
        parts = urlsplit(found.url)
        assert found.url.isascii()
        assert parts.scheme in ("http", "https")
        assert parts.hostname == found.host
        assert parts.username is None
        assert target(found.url) == found
