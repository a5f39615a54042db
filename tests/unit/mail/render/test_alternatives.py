from __future__ import annotations

import pytest

from stream_bayes.mail.render.reader import render_mail
from stream_bayes.mail.render.spans import MAX_SHOWN, MAX_SPANS
from tests.support.rendered_mails import ALTERNATIVES, MIXED, as_text, check_rendered_mail

INSTEAD = "\n\n{HTML part, which most mail programs show instead}\n"
LINKS = "\n\n{links of the HTML part}\n"
LUNCH = "Shall we have lunch at noon? The soup is good, they say."


def letter_of(plain: str, *others: str) -> bytes:
    parts = [f"Content-Type: text/plain\n\n{plain}", *(f"Content-Type: text/html\n\n{other}" for other in others)]
    return ALTERNATIVES + ("\n--x\n".join(parts) + "\n--x--").encode()


@pytest.mark.parametrize(
    ("html", "told_as"),
    [
        (f"<p>{LUNCH.upper()}</p>", LUNCH),
        ("<p>Shall <b>we</b> have&nbsp;lunch<br>at noon?</p>&quot;The soup is good&quot;, they say!", LUNCH),
        ("<p>Buy cheap pills", f"{LUNCH}{INSTEAD}Buy cheap pills"),
        (f"{LUNCH} Buy pills", f"{LUNCH}{INSTEAD}{LUNCH} Buy pills"),
        ("<img src=http://x.example/pills.png>", f"{LUNCH}{INSTEAD}{{picture}}"),
        ("lunch at noon", f"{LUNCH}{INSTEAD}lunch at noon"),
        ("<p>", LUNCH),
        (f"<a href=http://x.example>{LUNCH}</a>", f"{LUNCH}{LINKS}[{LUNCH} -> x.example]"),
        (
            f"{LUNCH} http://x.example <a href='javascript:a'>they</a> <a href=//x.example/>say</a>"
            "<form action=//y.example>",
            f"{LUNCH}{LINKS}[say -> x.example]\n{{javascript: link}}\n{{form to y.example}}",
        ),
    ],
)
def test_the_html_part_is_shown_if_it_differs(html: str, told_as: str) -> None:
    letter = render_mail(letter_of(LUNCH, html))
    check_rendered_mail(letter)
    assert as_text(letter.spans) == told_as
    assert not letter.cut


def test_links_of_both_are_shown_once() -> None:
    raw = letter_of(f"{LUNCH} http://x.example/", f"{LUNCH} <a href='http://X.example'>good</a>")
    assert as_text(render_mail(raw).spans) == f"{LUNCH} [http://x.example/ -> x.example]"


def test_links_are_bounded() -> None:
    letter = render_mail(letter_of(LUNCH, LUNCH + "".join(f" <a href=//x.example/{n}>lunch</a>" for n in range(30))))
    assert sum(piece.kind == "link" for piece in letter.spans) == 20
    assert letter.spans[-1].text == "10 more links"


@pytest.mark.parametrize("unit", ["lunch ", "\u200bF", "lunch"])
def test_no_text_pushes_another_out_of_sight(unit: str) -> None:
    letter = render_mail(letter_of(unit * MAX_SHOWN, "<p>Buy cheap pills", "<p>and watches" * 5000, "<p>or loans"))
    check_rendered_mail(letter)
    assert all(text in as_text(letter.spans) for text in ("{the rest is left out}", "Buy cheap pills", "or loans"))
    assert letter.cut
    assert len(letter.spans) <= MAX_SPANS


def test_html_with_its_pictures() -> None:
    related = (
        "Content-Type: multipart/related; boundary=y\n\n--y\nContent-Type: text/html\n\n<p>Buy pills\n"
        "--y\nContent-Type: image/png; name=p.png\n\nPNG\n--y--"
    )
    raw = ALTERNATIVES + f"Content-Type: text/plain\n\n{LUNCH}\n--x\n{related}\n--x--".encode()
    letter = render_mail(raw)
    assert as_text(letter.spans) == f"{LUNCH}{INSTEAD}Buy pills"
    assert letter.attachments == ("p.png (image/png)",)


def test_two_plain_texts_and_an_invitation() -> None:
    raw = ALTERNATIVES + b"\none\n--x\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\n--x\n\ntwo\n--x--"
    assert as_text(render_mail(raw).spans) == "one\n\n{another part, which some mail programs show instead}\ntwo"


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ("filename*0*=utf-8''r%C3%A9sum%C3;\n filename*1*=%A9.pdf;\n filename*2=.exe", "résumé.pdf.exe"),
        ("filename*0*=r%C3%A9sum; filename*1*=%C3%A9.pdf.exe", "résumé.pdf.exe"),
        ('filename*1=.exe; filename*0="a b.pdf"', "a b.pdf.exe"),
        ("filename*0*=iso-8859-1'fr'r%E9; filename*1=\"%41.exe\"", "ré%41.exe"),
        ("filename=a.pdf; filename*=utf-8''a.exe", "a.exe"),
        ('filename="' + "a" * 400 + '.pdf.exe"', "a" * 49 + "…" + "a" * 41 + ".pdf.exe"),
        ('filename="never closed.exe', "never"),
    ],
)
def test_names_in_pieces(parameters: str, name: str) -> None:
    for field in (f"Content-Disposition: attachment; {parameters}", f"X: y; {parameters}"):
        kind = "application/octet-stream" + (f"; {parameters.replace('file', '')}" if field[0] == "X" else "")
        letter = render_mail(MIXED + f"Content-Type: {kind}\n{field}\n\nMZ\n--x--".encode())
        check_rendered_mail(letter)
        assert letter.attachments == (f"{name} (application/octet-stream)",)
