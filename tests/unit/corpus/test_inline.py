"""Superscripts, line ends and list numbers in HTML text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import HtmlElement, fromstring

from corpus.inline import spell_out


def text_of(markup: str) -> str:
    tree: HtmlElement = fromstring(f"<div>{markup}</div>")
    spell_out(tree)
    return " ".join(tree.text_content().split())


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("The dam is 112<sup>1</sup> m high", "The dam is 112 m high"),
        ("finished in 1954<sup>2</sup> after", "finished in 1954 after"),
        ("3 × 10<sup>7</sup> m<sup>3</sup> of water", "3 × 10⁷ m³ of water"),
        ("10<sup>−3</sup> s", "10⁻³ s"),
        ("9.8 m s<sup>-2</sup>", "9.8 m s⁻²"),
        ("x<sup>n</sup>", "x^n"),
        ("covers 8<sup>1</sup>/<sub>2</sub> km<sup>2</sup>", "covers 8 1/2 km²"),
        ("<sup>3</sup>/<sub>4</sub> of it", "3/4 of it"),
        ('420<a href="#n3"><sup>3</sup></a> families', "420 families"),
        ('420<sup class="reference"><a href="#n">[3]</a></sup> families', "420 families"),
        ("in the county.<sup>12</sup> Then", "in the county. Then"),
        ("88<sup>a</sup>", "88"),
        ("the museum<sup>*</sup> opens", "the museum opens"),
        ("15<sup>th</sup> of May", "15th of May"),
        ("Loreglass<sup>TM</sup>", "LoreglassTM"),
        ("H<sub>2</sub>O", "H2O"),
        ("a density of 920 kg/m<sup>3</sup>", "a density of 920 kg/m³"),
        ("a floor of 300 ft<sup>2</sup>", "a floor of 300 ft²"),
        ("made in the UK<sup>2</sup> and sold", "made in the UK and sold"),
        ("the dam<sup>3</sup> holds", "the dam holds"),
        ("an outer <sup>a <sup>12</sup></sup> word", "an outer a 12 word"),
    ],
)
def test_superscripts_are_powers_or_notes(markup: str, text: str) -> None:
    assert text_of(markup) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("71<br>146", "71 146"),
        ("<ul><li>USB-C</li><li>jack</li></ul>", "USB-C jack"),
        ("<div>Battery</div><div>4300 mAh</div>.", "Battery 4300 mAh ."),
        ("<span>Screen</span><span>6.1 in</span> wide", "Screen 6.1 in wide"),
        ("<strong>Chip</strong><span>Orca 7</span><br>Memory<span>8 GB</span>", "Chip Orca 7 Memory 8 GB"),
        ("<li><span>Screen</span> <span>6.1 in</span></li>", "Screen: 6.1 in"),
        ("<div><div>Battery</div><div>4300 mAh</div></div>", "Battery: 4300 mAh"),
        ("<li><b>Elm Hall</b> <i>stands</i> here</li>", "Elm Hall stands here"),
        ("<li><a>Home</a><a>Shop</a></li>", "Home Shop"),
        ("<b>B</b>erlin is <i>un</i>real", "Berlin is unreal"),
        ("the <b>A</b><b>B</b><b>C</b>", "the ABC"),
        ("<ol start=1956><li>A hard year.</li><li>Mild.</li></ol>", "1956. A hard year. 1957. Mild."),
        ("<ol><li>Stir.</li></ol>", "Stir."),
    ],
)
def test_block_ends_become_white_space(markup: str, text: str) -> None:
    assert text_of(markup) == text


def test_many_superscripts_are_read_in_one_pass() -> None:
    assert text_of("<p>" + "<sup>2</sup>" * 50_000 + "word</p>") == "word"


@given(
    st.lists(st.sampled_from(["<sup>", "</sup>", "<br>", "1", "m", " ", "<a href='#'>", "</a>", "<li>", "/"]))
)
def test_any_markup_keeps_its_words(parts: list[str]) -> None:
    markup = "".join(parts)
    assert "word" in text_of(f"word {markup}")
