"""Clean infobox values and snippets."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpus.values import clean_attributes, clean_markup, clean_snippet


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("[[Ada Lovelace|Ada]]<br />{{convert|12|cm|in}}", "Ada, 12 cm"),
        ("[[Paris]]", "Paris"),
        ("[[Mercury (planet)|]]", "Mercury"),
        ("{{convert|5|to|10|km|mi|abbr=on}} long", "5 to 10 km long"),
        ("{{convert|5|ft|10|in|m}}", "5 ft 10 in"),
        ("{{nowrap|{{convert|1,200|m2}}}}", "1,200 m²"),
        ("{{birth date and age|1907|5|14|df=y}} (age 50)", "14 May 1907 (age 50)"),
        ("{{start date|1999|07}}", "July 1999"),
        ("{{plainlist|\n* [[A]]\n* [[B|b]]\n}}", "A, b"),
        ("{{ubl|red|green|blue}}", "red, green, blue"),
        ("{{lang|fr|Bonjour}}, {{lang-fr|Salut}}", "Bonjour, Salut"),
        ("{{circa|1900}} for {{USD|12}}", "c. 1900 for $12"),
        ("'''Bold''' and ''slanted''", "Bold and slanted"),
        ("12<ref name=x>see {{cite book|title=A}}</ref>13<ref name=y/>", "1213"),
        ("<span class='x'>406&nbsp;pages</span>", "406 pages"),
        ("silver<br />coral<br>navy", "silver, coral, navy"),
        ("&lt;b&gt;AT&amp;amp;T&lt;/b&gt;", "AT&T"),
        ("10<sup>6</sup> m<sup>2</sup>", "10^6 m²"),
        ("3 < 4 and 5 > 2", "3 < 4 and 5 > 2"),
        ("[[File:a.jpg|thumb|with a [[link]]]]red", "red"),
        ("[https://a.example/b the label] and [https://a.example]", "the label and"),
        ("<!-- hidden -->shown", "shown"),
        ("{|\n|-\n| cell\n|}", "cell"),
        ("Rock & Roll | Jazz", "Rock & Roll | Jazz"),
        ("{{unclosed|a [[b", "unclosed a b"),
        ("a}}]]b", "ab"),
        ("nul\x00, \ud800 and \u202ebidi", "nul, and bidi"),
    ],
)
def test_markup_becomes_displayed_text(markup: str, text: str) -> None:
    assert clean_markup(markup) == text


MARKS = (
    "{{", "}}", "[[", "]]", "{|", "|}", "|", "=", "'''", "*", "[", "]", "<", ">", "<br", "/>", "<ref>",
    "</ref>", "<!--", "-->", "&lt;", "&#x0;", "convert", "birth_date", "1900", "File:", "http://a",
)  # fmt: skip
MARKUP = st.lists(st.sampled_from([*MARKS, " ", "\n"]) | st.text(max_size=5), max_size=60).map("".join)


@given(MARKUP)
@example("{{convert|}}[[|]]{{|}}{{}}[[]]")
@example("{{birth date|99999999999999999999|1|1}}")
def test_broken_markup_never_fails(markup: str) -> None:
    cleaned = clean_markup(markup)
    assert "{{" not in cleaned
    assert "[[" not in cleaned
    cleaned.encode("utf-8")


@pytest.mark.parametrize("opener", ["{{", "[[", "{{a|", "<ref>", "<", "<!--", "[http://a ", "\n", "(,", "= "])
def test_malicious_repetition_is_cut(opener: str) -> None:
    assert len(clean_markup(opener * 200_000)) <= 20_000


@pytest.mark.parametrize(
    ("raw", "attributes"),
    [
        (
            {
                "birth_date": "{{birth date|1900|1|2}}",
                "publishedIn": ["[[A]]", "B"],
                "a": None,
                "b": "<br />",
            },
            {"birth date": "2 January 1900", "published in": "A, B"},
        ),
        (
            {"pages": 312, "size": {"width": "12 cm", "height": 20.5}, "signed": True},
            {"pages": "312", "size": "width: 12 cm; height: 20.5", "signed": "yes"},
        ),
        ("| author = [[Mira Holm]]\n| pages = 312", {"author": "Mira Holm", "pages": "312"}),
        ('{"author": "[[Mira Holm]]"}', {"author": "Mira Holm"}),
        ("A novel about salt.", {"description": "A novel about salt."}),
        ("{{Infobox book}} about salt", {"description": "about salt"}),
        ('{"broken": ', {"description": '{"broken":'}),
        ("", {}),
    ],
)
def test_attributes_keep_their_order_without_empty_values(raw: Any, attributes: dict[str, str]) -> None:
    assert list(clean_attributes(raw).items()) == list(attributes.items())


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner), max_leaves=8
    )
)
def test_attributes_of_any_type_give_texts(raw: object) -> None:
    for key, value in clean_attributes({"key": raw, "": raw, "other": {"inner": raw}}).items():
        assert key
        assert value


@pytest.mark.parametrize(
    ("snippet", "clean"),
    [
        ("A <strong>salt</strong> &amp; pepper&nbsp;mill", "A salt & pepper mill"),
        ("It&#x27;s 3 &amp;lt; 4<br/>and more", "It's 3 < 4 and more"),
        ("&lt;strong&gt;bold&lt;/strong&gt; &lt;script&gt; is a tag", "bold <script> is a tag"),
        ("\x00\u202eevil\x1b[31m", "evil[31m"),
        ("a < b and c > d", "a < b and c > d"),
        ("<" * 100_000, "<" * 20_000),
        ("", ""),
    ],
)
def test_a_snippet_of_a_page_becomes_plain_text(snippet: str, clean: str) -> None:
    assert clean_snippet(snippet) == clean
