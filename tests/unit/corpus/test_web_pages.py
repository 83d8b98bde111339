"""Web pages: main text, notes, powers, tables and lists, in whatever markup a page has them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import HtmlElement, fromstring

from corpus.formats.process import read_document
from corpus.inline import spell_out
from corpus.pages import Page, PageFormat

PROSE = "".join(
    f"<p>The valley has many mills, and the county counts them each spring; in the {place} they grind.</p>"
    for place in ("north", "south", "east", "west", "hills", "towns", "woods", "villages", "fields", "ports")
)


def read(html: str | bytes, head: str = "<title>Page</title>") -> Page:
    if isinstance(html, str):
        html = f"<!doctype html><html><head><meta charset=utf-8>{head}</head><body>{html}".encode()
    return read_document(PageFormat.HTML, html)


def text(page: Page) -> str:
    return "\n".join(line for block in page.blocks for line in block.lines)


def short_and_long(html: str) -> tuple[str, str]:
    return text(read(html)), text(read(f"<main><h1>Page</h1>{PROSE}{html}{PROSE}</main>"))


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('112<span class="reference">[1]</span> m', "112 m"),
        ('112<a href="#fn1" id="fnref1">1</a> m', "112 m"),
        ('112<a class="footnote" href="#note-1">1</a> m', "112 m"),
        ('112<a role="doc-noteref" href="#n">1</a> m', "112 m"),
        ('112<a epub:type="noteref" href="#n">1</a> m', "112 m"),
        ('112<span style="vertical-align: super">1</span> m', "112 m"),
        ('10<span class="superscript">7</span> m<span class="sup">3</span>', "10⁷ m³"),
        ("112<sup>1,2</sup> m", "112 m"),
        ("E=mc<sup>2</sup>", "E=mc²"),
        ("3 × 10 <sup>7</sup> m <sup>3</sup> of water", "3 × 10⁷ m³ of water"),
        ("2<sup>64</sup> grains", "2⁶⁴ grains"),
        ("10<sup>n+1</sup> states", "10^(n+1) states"),
        ("boils at 98<sup>o</sup>C", "boils at 98°C"),
        ("<math><mn>8</mn><mfrac><mn>1</mn><mn>2</mn></mfrac></math> km", "8 1/2 km"),
        ("<math><msup><mn>10</mn><mn>7</mn></msup></math> litres", "10⁷ litres"),
        ("<math><msqrt><mn>16</mn></msqrt></math> is 4", "√16 is 4"),
        (
            '<span style="display:none"><math><semantics><mi>c</mi><annotation>\\c</annotation></semantics>'
            "</math></span>"
            " is c",
            "c is c",
        ),
        ('was <span style="text-decoration: line-through">450</span> now 420', "was now 420"),
    ],
)
def test_notes_and_powers_are_distinguished_in_any_markup(html: str, expected: str) -> None:
    for shown in short_and_long(f"<p>The text is {html}, says the guide.</p>"):
        assert f"The text is {expected}, says the guide." in " ".join(shown.split())


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("<tr><th>Hall<th>Year<tr><td rowspan=0>Elm<td>1956<tr><td>1960", "Hall: Elm; Year: 1960"),
        ("<tr><td><th>1990<th>2000<tr><th>Trains<td>40<td>55", "Trains; 1990: 40; 2000: 55"),
        ("<tr><td>Year<td>Trains<td>Cars<tr><td>1990<td>40<td>12", "Year: 1990; Trains: 40; Cars: 12"),
        ("<tr><td><b>Who</b><td><b>Where</b><tr><td>Ada<td>Elg", "Who: Ada; Where: Elg"),
        ("<caption>Mills</caption><tr><th>Who<th>High<tr><td>Elm<td>4 m", "Mills\nWho: Elm; High: 4 m"),
        ("<tr><th>Year<th>Cars<tr><td>1990<td>4<tr><th>Year<th>Bus<tr><td>1991<td>7", "Year: 1991; Bus: 7"),
        ("<tr><th>Height<td>31 m<th>Width<td>12 m", "Height: 31 m; Width: 12 m"),
        ("<tr><th>Ports<td><ul><li>USB-C<li>jack</ul>", "Ports: USB-C, jack"),
        ("<tr><th>Rules<td><ul><li>No dogs.<li>No fires</ul>", "Rules: No dogs. No fires"),
        ("<thead><tr><td>Year<td>Level<tbody><tr><td>high<td>low", "Year: high; Level: low"),
        ("<tr><td><h2>Orm</h2><table><tr><th>Year<th>Cars<tr><td>9<td>8</table>", "Orm\nYear: 9; Cars: 8"),
        ("<tr><th>Who<th>Cars<tr style='display:none'><td>1980<td>9<tr><td>1990<td>4", "Who: 1990; Cars: 4"),
        ("<tr><th rowspan=2>Year<th colspan=2>Pages<tr><th>hard<th>soft<tr><td>1956<td>312<td>320",
         "Year: 1956; Pages hard: 312; Pages soft: 320"),
        ("<tr><th>Season<th>Day<th>Open<tr><td rowspan=2>Summer<td>Mon<td>9<tr><td>Tue<td>10",
         "Season: Summer; Day: Tue; Open: 10"),
        ("<tr><th>Day<th>Open<th>Close<tr><td>Mon<td colspan=2>9 to 5", "Mon; Open: 9 to 5; Close: 9 to 5"),
        ("<tr><th colspan=2>Prices<tr><th>Who<th>Price<tr><td>Adults<td>£5", "Who: Adults; Price: £5"),
    ],
)  # fmt: skip
def test_tables_are_read_by_their_kind(rows: str, expected: str) -> None:
    for shown in short_and_long(f"<table>{rows}</table>"):
        assert expected in shown
        assert "1980" not in shown


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<figure><img src=a><figcaption>It is 88 m tall.</figcaption></figure>", "It is 88 m tall."),
        ("<form><p>It is 88 m tall.</p><input><button>Send</button></form>", "It is 88 m tall."),
        ("<div><span>Memory</span><span>8 GB</span></div>", "Memory: 8 GB"),
        ("<div><label>Size</label><output>42</output></div>", "Size 42"),
        ("<div class=infobox><dl><dt>Height</dt><dd>31 m</dd></dl></div>", "Height: 31 m"),
        ("<aside><h2>Key facts</h2><p>It was built in the year 1907.</p></aside>", "Key facts\nIt was built"),
        ("<dl><dt>Steps</dt><dd>96</dd><dd>in the tower</dd></dl>", "Steps: 96\nSteps: in the tower"),
        ("<ol><li value=7>Seventh</li><li>Eighth</li></ol>", "7. Seventh\n8. Eighth"),
        ("<ol reversed><li>Third</li><li>Second</li></ol>", "2. Third\n1. Second"),
        ("<ul><li>Bread<ul><li>Rye</li></ul></li></ul>", "Bread\nRye"),
        ("<div role=heading aria-level=3>Prices</div><p>Adults pay 9.</p>", "Prices\nAdults pay 9."),
        (
            "<div role=table><div role=row><span role=columnheader>Year</span>"
            "<span role=columnheader>Cars</span></div>"
            "<div role=row><span role=cell>1990</span><span role=cell>40</span></div></div>",
            "Year: 1990; Cars: 40",
        ),
        ("<address>Mill Lane 4<br>1234 Elg</address>", "Mill Lane 4\n1234 Elg"),
        ("<article><p>Old.</p><footer>Architect: Mira Holm.</footer></article>", "Architect: Mira Holm."),
        ("<section id=newsletter-history><h2>Letters</h2><p>It is a letter from 1922.</p></section>", "1922"),
        ("<section id=comments><h2>Comments on the law</h2><p>It has 44 long articles.</p></section>", "44"),
        ("<div class=social-security><p>The office of the town opens at 8.</p></div>", "opens at 8"),
        ("<div class=promo><p>The museum opens at nine on Sundays.</p></div>", "nine on Sundays"),
        ("<div class=cookies><p>Bake the oat cookies for 12 minutes at 180 degrees.</p></div>", "12 minutes"),
    ],
)  # fmt: skip
def test_displayed_article_text_is_kept(html: str, expected: str) -> None:
    for shown in short_and_long(html):
        assert expected in shown


@pytest.mark.parametrize(
    "html",
    [
        "<p hidden>999</p>",
        "<p style='visibility: hidden'>999</p>",
        "<p aria-hidden=true>999</p>",
        "<div id=cookie-consent><p>We use cookies. Accept all 999?</p><button>Accept</button></div>",
        "<div class=newsletter><h2>Stay in touch</h2><p>999 news from us each week.</p><input></div>",
        "<div class=share><a href=a>Share 999</a> <a href=b>Send</a></div>",
        "<div class=related><h2>Read next</h2><a href=a>The mill of 999</a></div>",
        "<select>" + "<option>999</option>" * 30 + "</select>",
        "<nav><a href=a>999</a></nav>",
    ],
)
def test_navigation_and_hidden_text_is_left_out(html: str) -> None:
    for shown in short_and_long(f"<p>The tower is 88 m tall, says the guide of the county.</p>{html}"):
        assert "88 m tall" in shown
        assert "999" not in shown


def test_page_reports_the_share_left_out() -> None:
    menu = "<div class=sidebar>" + "<a href=a>Another page of ours</a> " * 100 + "</div>"
    assert read(f"<main>{PROSE}</main>").left_out == 0
    assert 0.5 < read(f"<main>{PROSE}</main>{menu}{menu}").left_out < 0.95


def test_script_page_is_read_from_its_description() -> None:
    facts = '{"@type": "Museum", "name": "Falk", "foundingDate": "1936", "url": "https://a.example"}'
    head = (
        "<title>Falk</title><meta name=description content='It has a 1.2 m mirror.'>"
        f"<script type='application/ld+json'>{facts}</script>"
    )
    shown = text(read("<div id=root></div><script>run()</script>", head))
    assert shown.splitlines() == ["It has a 1.2 m mirror.", "name: Falk", "founding date: 1936"]


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ('+++\ntitle = "Skarv"\n+++\nIt is 31 m tall.\n', "It is 31 m tall."),
        ('{"title": "Skarv"}\n\nIt is 31 m tall.\n', "It is 31 m tall."),
        ("---\ntags: [a, b]\n---\nIt is 31 m tall.\n", "It is 31 m tall."),
        ("---\ntitle: Skarv: the light\n---\nIt is 31 m tall.\n", "It is 31 m tall."),
        ("112^[with the parapet] m\n", "112 (with the parapet) m"),
        ("10^7^ m^3^ of H~2~O\n", "10⁷ m³ of H2O"),
        ("- Mills\n\n  | Mill | Height |\n  |---|---|\n  | Elm | 4 m |\n", "Mills\nMill: Elm; Height: 4 m"),
        ("Opened\n: 1908\n\nSteps\n: 96\n", "Opened: 1908\nSteps: 96"),
        ("> [!NOTE]\n> It is old.\n\n:::tip\nTake bus 7.\n:::\n", "It is old.\nTake bus 7."),
        (
            "## Height {#h .x}\n\nIt was *built* by\n[Ada](https://a.example).\n",
            "Height\nIt was built by Ada.",
        ),
        ("```sh\n[[ -f a ]] && echo x^2^\n```\n", "[[ -f a ]] && echo x^2^"),
    ],
)
def test_markdown_of_other_writers_is_read(markdown: str, expected: str) -> None:
    assert text(read_document(PageFormat.MARKDOWN, markdown.encode())) == expected


TEASERS = "".join(
    f"<h3><a href=/{n}>A storm of year {n}</a></h3><p>It rained for days in 999.</p>" for n in range(4)
)


@pytest.mark.parametrize(
    "page",
    [
        "<div><div>{prose}</div><div><h2>Hours</h2><p>From 8 to 14, on Sundays to 12.</p></div></div>",
        "<div><div>{prose}</div></div><div><h2>Hours</h2><ul><li>From 8 to 14<li>Sundays to 12</ul></div>",
        "<article><p>Open 8 to 14, on Sundays to 12.</p><div>{prose}</div></article>",
        "<main><div>{prose}</div><div>Open:<br>8 to 14, on Sundays to 12.</div></main>",
        "<div>{prose}<h2>See also</h2><ul><li><a href=a>From 8 to 14</a><li><a href=b>Sundays</a>"
        "<li><a href=c>Sundays to 12</a></ul></div>",
        "<article><div>{prose}</div><section><h2>Reading</h2><ul><li><a href=a>From 8 to 14</a>"
        "<li><a href=b>Sundays to 12</a><li><a href=c>More</a></ul></section></article>",
        "<div><div>{prose}</div><table><tr><th>Day<th>Hours<tr><td>Monday<td>8 to 14<tr><td>Sunday<td>to 12"
        "</table></div>",
    ],
)
def test_related_sections_are_kept(page: str) -> None:
    shown = text(read(page.format(prose=PROSE * 2)))
    assert all(words in shown for words in ("8 to 14", "to 12", "the ports they"))


@pytest.mark.parametrize(
    "beside",
    [
        f"<div><h2>Most popular</h2>{TEASERS}</div>",
        "<div><h2>Latest</h2><ul>" + "<li><a href=/a>A storm in 999</a></li>" * 9 + "</ul></div>",
        "<div>" + "<a href=/a>Tag 999</a> " * 5 + "</div>",
        "<aside><h2>About us</h2><p>We are a paper since 999 and print the news of the county.</p></aside>",
        "<form><h2>Write to us</h2><p>We answer each letter in 999 days, or later.</p><input></form>",
        "<div id=comments><h2>Comments</h2>"
        + "<div class=comment><p>I was there in 999 and saw it with my own eyes, as did my dog.</p></div>" * 5
        + "</div>",
        "<p>Printed in 999 in Elg.</p>",
    ],
)
def test_unrelated_sections_are_removed(beside: str) -> None:
    for page in (f"<div><div>{PROSE * 2}</div>{beside}</div>", f"<main>{PROSE * 2}</main>{beside}"):
        shown = text(read(page))
        assert "999" not in shown
        assert "the ports they" in shown


def test_many_controls_are_taken_out_in_one_pass() -> None:
    assert "yyy" in text(read("<button>x</button>y" * 20_000))


def text_of(markup: str) -> str:
    tree: HtmlElement = fromstring(f"<div>{markup}</div>")
    spell_out(tree)
    return " ".join(tree.text_content().split())


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("The dam is 112<sup>1</sup> m high", "The dam is 112 m high"),
        ("3 × 10<sup>7</sup> m<sup>3</sup> of water", "3 × 10⁷ m³ of water"),
        ("10<sup>−3</sup> s", "10⁻³ s"),
        ("9.8 m s<sup>-2</sup>", "9.8 m s⁻²"),
        ("x<sup>n</sup>", "x^n"),
        ("covers 8<sup>1</sup>/<sub>2</sub> km<sup>2</sup>", "covers 8 1/2 km²"),
        ("<sup>3</sup>/<sub>4</sub> of it", "3/4 of it"),
        ('420<a href="#n3"><sup>3</sup></a> families', "420 families"),
        ("in the county.<sup>12</sup> Then", "in the county. Then"),
        ("88<sup>a</sup>", "88"),
        ("the museum<sup>*</sup> opens", "the museum opens"),
        ("15<sup>th</sup> of May", "15th of May"),
        ("Loreglass<sup>TM</sup>", "LoreglassTM"),
        ("H<sub>2</sub>O", "H2O"),
        ("a density of 920 kg/m<sup>3</sup>", "a density of 920 kg/m³"),
        ("a floor of 300 ft<sup>2</sup>", "a floor of 300 ft²"),
        ("made in the UK<sup>2</sup> and sold", "made in the UK and sold"),
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
