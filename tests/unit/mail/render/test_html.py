from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.mail.render.reader import render_mail
from tests.support.hostile_mails import SECRET
from tests.support.rendered_mails import HTML, as_text, check_rendered_mail


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>one<p>two<br>three<div>four</div>five", "one\n\ntwo\nthree\nfour\nfive"),
        ("a  <b>b</b>c\n\n d&nbsp;&nbsp;e", "a bc d e"),
        ("<ul><li>tea<li>cake</ul>then", "• tea\n• cake\nthen"),
        ("<table><tr><th>Age</th><th>Price</th></tr><tr><td>30<td>$12</table>", "Age\tPrice\n30\t$12"),
        ("<pre>a  b\n  c</pre>d", "a  b\n  c\n\nd"),
        ("a<br><br><br><br>b", "a\n\nb"),
        ("caf&eacute; &lt;b&gt; &#8226; &#x41;&#0000000000066;", "café <b> • AB"),
        ("a<script>x</script>b<style>y</style>c<!-- z -->d<title>t</title>e", "a {script} bcde"),
        ("a<SCRIPT x='>'>x < y </b></SCRIPT\n>b", "a {script} b"),
        ("a<!--> b <!---> c <!-- > d --!> e<![if x]>f<?php >g", "a b c e" + "fg"),
        ("a < b <3 <> c</ d>e", "a < b <3 <> ce"),
        ("<p title='a > b' class=\"c\">d", "d"),
        ("<a href='http://x.example/'>x <b>y</b></a> z", "[x y -> x.example] z"),
        ("see<a href=//x.example>here</a>", "see[here -> x.example]"),
        ("<a href='http://x.example'>a<a href='http://y.example'>b</a>c", "[a -> x.example][b -> y.example]c"),
        ("<a href='#top'>up</a> <a name=x>here</a>", "up here"),
        ("<a href='login'>in</a>", "in {link to nowhere}"),
        ("<a href='http://a b/'>in</a>", "in {link to nowhere}"),
        ("<a href='java\nscript:x'>in</a>", "in {javascript: link}"),
        ("<a href='mailto:a@X.example'>us</a>", "[us ⟨a@X.example⟩ -> x.example]"),
        ("<a href='http://x.example' href='http://y.example'>one</a>", "[one -> x.example]"),
        ("<base href='http://x.example/a/'><a href=b>c</a>", "[c -> x.example]"),
        ("<a href=http://x.example><img alt='Log in'></a>", "[⟨picture: Log in⟩ -> x.example]"),
        ("<map><area href=http://x.example alt=East></map>", "[⟨picture: East⟩ -> x.example]"),
        ("hi<img><img src=x><img alt=''><img width=1>", "hi {picture ×2}"),
        ("<img alt=''>", "{picture}"),
        (
            "<form action='http://x.example/'><input type=hidden value=v><input value=Go>",
            "{form to x.example}{field: Go}",
        ),
        ("hello http://x.example/a.", "hello [http://x.example/a -> x.example]."),
        ("<title>never closed <p>text", "never closed\n\ntext"),
        ("<img><br><style>p {} <p>text", "{picture}\np {}\n\ntext"),
        ("read me <style>p {} <p>text", "read me {style without an end}"),
        ("<!-- never closed <p>text", "text"),
        ("<p class='never closed>text<b>more", "textmore"),
        ("<a href='javascript:x'>press me</a>write", "press me {javascript: link} write"),
        ("press<img>, and <img>(so) on", "press {picture}, and {picture}(so) on"),
        ("<a href='mailto:a@x.example?subject=b'>a@X.example</a>", "[a@X.example -> x.example]"),
        ("a<p <b class=x>b", "a\n\nb"),
    ],
)
def test_html(markup: str, text: str) -> None:
    letter = render_mail(HTML + markup.encode())
    check_rendered_mail(letter)
    assert as_text(letter.spans) == text
    assert not letter.cut


@pytest.mark.parametrize(
    "attribute",
    [
        "hidden",
        "style='display:none'",
        "STYLE='color:red; Display : NONE !important'",
        "style='visibility:hidden'",
        "style='font-size:0'",
        'style="font-size: 1px;"',
        "style='font-size:.05em'",
        "style=opacity:0",
        "style='dis/**/play:none'",
        "style='max-height:0px;overflow:hidden'",
        "style='display&#58;none'",
    ],
)
def test_hidden_text_is_marked(attribute: str) -> None:
    markup = f"<p>seen<div {attribute}> <div>not</div> this </div>again"
    letter = render_mail(HTML + markup.encode())
    check_rendered_mail(letter)
    assert as_text(letter.spans) == "seen\n{hidden text} not\nthis {end of hidden text}\nagain"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p style='font-size:10px;opacity:0.9'>a<p style='display:block'>b", "a\n\nb"),
        ("<p style='display:none;display:block'>a", "a"),
        ("a<p hidden>b<p>c", "a\n\n{hidden text} b {end of hidden text}\n\nc"),
        ("a<span hidden></span><img hidden>b", "a {picture} b"),
        ("<a href=http://x.example>a<i hidden>b</i></a>", "[a⟨hidden text⟩b⟨end of hidden text⟩ -> x.example]"),
        ("<b hidden>a<i hidden>b</i>c", "{hidden text} abc"),
    ],
)
def test_where_hidden_text_begins_and_ends(markup: str, text: str) -> None:
    assert as_text(render_mail(HTML + markup.encode()).spans) == text


TAGS = [
    "<p>",
    "</p>",
    "<b class='x'>",
    "<br>",
    "<!-- c -->",
    "<td>",
    "<a href=http://x.example>",
    "</a>",
    "<pre>",
    "<li",
    ">",
    "&lt;",
]


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(TAGS) | st.text("ab <>&;\n", max_size=10)),
    st.lists(st.sampled_from(TAGS)),
    st.text("ab<>'\"-!/ "),
)
def test_the_content_of_a_script_is_never_text(before: list[str], after: list[str], within: str) -> None:
    markup = f"{''.join(before)}><script type='x'>{within}{SECRET}</script>{''.join(after)}"
    assert SECRET not in as_text(render_mail(HTML + markup.encode()).spans)
