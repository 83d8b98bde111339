"""Extract the content of a page."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.pages import BlockKind, NoContent, Page, PageFormat
from corpus.reading import read_page
from corpus.records import PageRecord
from tests.unit.corpus.formats.documents import passages

HTML = """<!DOCTYPE html><html><head><title>The Salt Road | Lindvik Library</title>
<link rel="canonical" href="https://library.example/salt">
<meta property="article:modified_time" content="2023-04-05T10:00:00+02:00">
<style>body{color:red}</style><script>var tracking = 1;</script></head><body>
<header><nav><a href="/">Home</a><a href="/shop">Shop</a></nav></header>
<div id="cookie-banner" class="banner">We use cookies. Accept all?</div>
<main><h1>The Salt Road</h1>
<p>The Salt Road is a novel by Mira Holm, first printed in 1956.</p>
<h2>Editions</h2>
<table><tr><th>Year</th><th>Pages</th></tr><tr><td>1956</td><td>312</td></tr><tr><td>1971</td><td>320</td></tr></table>
<h3>Formats</h3><ul><li>Hardback, 24 cm</li><li>Paperback, <b>18 cm</b></li></ul>
<dl><dt>Language</dt><dd>Norwegian</dd></dl></main>
<div class="ad banner">Advertisement: a new mattress.</div>
<aside class="related"><h4>Read next</h4><a href="#">The Iron Coast</a></aside>
<footer>© Lindvik Library. Privacy.</footer></body></html>"""


def page_of(content: str | bytes, form: PageFormat = PageFormat.HTML, url: str = "https://a.example") -> Page:
    return read_page(PageRecord("line 1", content, form, url, fallback_url="" if url else "file:a/x.html"))


def text_of(page: Page) -> str:
    return "\n".join(line for block in page.blocks for line in block.lines)


def test_a_page_is_its_main_text_with_its_url_title_and_date() -> None:
    page = page_of(HTML, url="")
    assert text_of(page).splitlines() == [
        "The Salt Road",
        "The Salt Road is a novel by Mira Holm, first printed in 1956.",
        "Editions",
        "Year: 1956; Pages: 312",
        "Year: 1971; Pages: 320",
        "Formats",
        "Hardback, 24 cm",
        "Paperback, 18 cm",
        "Language: Norwegian",
    ]
    assert (page.url, page.title) == ("https://library.example/salt", "The Salt Road")
    assert page.last_modified == datetime.fromisoformat("2023-04-05T10:00:00+02:00")


SITE = "Mill Handbook 2.0"


@pytest.mark.parametrize(
    ("title", "body", "expected"),
    [
        (f"Grinding | {SITE}", f"<header><h1>{SITE}</h1></header><h2>Grinding<a>#</a></h2>", "Grinding"),
        (f"{SITE} - Grinding", f"<header><h1>{SITE}</h1></header><h2>Grinding</h2>", "Grinding"),
        ("Grinding", f"<div><h1>{SITE}</h1></div><div><h2>Grinding</h2><h2>Stones</h2></div>", "Grinding"),
        (f"Grinding — {SITE}", f"<h1>Grinding</h1><footer><h2>{SITE}</h2></footer>", "Grinding"),
        (f"{SITE} · Grinding", "<main><header><h1>Grinding</h1></header></main>", "Grinding"),
        (SITE, "<h1>Grinding</h1><h2>Stones</h2>", "Grinding"),
        (SITE, "<header><h1>Grinding</h1></header>", "Grinding"),
        (f"Grinding | {SITE}", f"<h1>{SITE}</h1><h1>Stones and water</h1>", "Grinding"),
        ("Learn C# | Lessons", "<h1>Learn C#</h1>", "Learn C#"),
        ("", "<h2>Grinding</h2>", ""),
    ],
)
def test_chapter_title_overrides_the_site_title(title: str, body: str, expected: str) -> None:
    html = f"<html><head><title>{title}</title></head><body>{body}<p>Stones grind the grain.</p>"
    assert page_of(html).title == expected


def test_manifest_overrides_the_page() -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    given = ("https://mirror.example/1", "Mirror", moment)
    page = read_page(PageRecord("line 1", HTML, PageFormat.HTML, *given))
    assert (page.url, page.title, page.last_modified) == given


@pytest.mark.parametrize("head", ["", '<link rel="canonical" href="javascript:alert(1)">'])
def test_file_is_the_url_without_a_canonical_web_address(head: str) -> None:
    html = f"<html><head>{head}</head><body><p>The museum opens at nine.</p></body></html>"
    assert page_of(html, url="").url == "file:a/x.html"


MARKDOWN = """---
title: Pump P9
url: https://pumps.example/p9
date: 2021-04-03
---
```sh
# install it
```

It gives *40* litres[^1] and costs ~~300~~ 250 crowns. See [the manual][man] and [[Valve V2|the valve]].
<!-- not for readers -->

| Part | Weight |
|------|--------|
| Lid  | 2 kg   |

[^1]: At 2 bar.
[man]: https://pumps.example/manual
"""


def test_markdown_is_rendered_to_text() -> None:
    page = page_of(MARKDOWN, PageFormat.MARKDOWN, url="")
    assert (page.title, page.url) == ("Pump P9", "https://pumps.example/p9")
    assert page.last_modified == datetime(2021, 4, 3, tzinfo=UTC)
    text = text_of(page)
    assert "It gives 40 litres and costs 250 crowns. See the manual and the valve." in text
    assert "Part: Lid; Weight: 2 kg" in text
    assert "At 2 bar." in text
    assert "readers" not in text
    assert not any(block.kind is BlockKind.HEADING for block in page.blocks)


def test_front_matter_bomb_is_not_expanded() -> None:
    levels = "".join(f"x{level}: &x{level} [{f'*x{level - 1}, ' * 9}]\n" for level in range(1, 12))
    page = page_of(f"---\nx0: &x0 [a]\n{levels}---\n# The mill\n\nIt is old.\n", PageFormat.MARKDOWN)
    assert (page.title, passages(page)) == ("The mill", ["It is old."])


def test_too_long_markdown_is_refused() -> None:
    with pytest.raises(NoContent, match="too long"):
        page_of("word " * 500_000, PageFormat.MARKDOWN)


def test_a_wrapped_line_of_plain_text_keeps_its_number() -> None:
    text = "It was sold for exactly\n450. That was much.\n\nIt boils at\n- 5 degrees."
    assert (
        text_of(page_of(text, PageFormat.TEXT))
        == "It was sold for exactly 450. That was much.\nIt boils at - 5 degrees."
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<html><p>Café, 14½ m, £4".encode("cp1252"), "Café, 14½ m, £4"),
        ("<html><meta charset=latin1><p>Œuvre – €4</p>".encode("cp1252"), "Œuvre – €4"),
        ("\ufeff<html><p>東京塔</p>".encode("utf-16-le"), "東京塔"),
        ("<html><meta charset=shift_jis><p>東京塔</p>".encode("cp932"), "東京塔"),
        ("<html><meta charset=no-such>Łódź".encode(), "Łódź"),
        ("<!-- <meta charset=windows-1251> --><p>café €4".encode(), "café €4"),
        ("<p>A café costs €4. Œuvre.".encode() + b" caf\xe9", "A café costs €4. Œuvre. caf\ufffd"),
        ("<meta charset=x-sjis><p>東京塔".encode("cp932"), "東京塔"),
        ("<meta charset=ks_c_5601-1987><p>탑의".encode("cp949"), "탑의"),
    ],
)
def test_encoding_is_detected_as_in_browsers(content: bytes, text: str) -> None:
    assert text_of(page_of(content)).strip() == text


@pytest.mark.parametrize(
    "html", ["", "<", "<html></html>", "<p>" * 3000, "<table>" * 500, "<html><nav>a</nav></html>"]
)
def test_page_without_content_is_an_error(html: str) -> None:
    with pytest.raises(NoContent):
        page_of(html)


PIECES = (
    "<a href", "<p>", "</p>", "<div>", "<table>", "<tr>", "<td>", "<ul>", "<li>", "<h2>", "</", "<!--",
    "&#x;", ">",
)  # fmt: skip


@settings(max_examples=40)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=40).map("".join))
def test_broken_html_gives_a_page_or_a_reason(html: str) -> None:
    try:
        page = page_of(f"<html><body>{html}</body></html>")
    except NoContent:
        return
    assert passages(page)


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n", "\x0c", "\u2028", "\u200b"])
def test_every_line_break_is_white_space(end: str) -> None:
    assert text_of(page_of(f"It opened{end}in 1820.".encode(), PageFormat.TEXT)) == "It opened in 1820."


def test_malicious_table_spans_are_limited() -> None:
    row = "<tr>" + "<td colspan=1000 rowspan=60000>x</td>" * 100 + "</tr>"
    assert len(text_of(page_of(f"<table>{row * 50}</table>"))) < 200_000


@pytest.mark.parametrize(
    ("title", "body", "reason"),
    [
        ("Just a second...", "<p>Checking if the site connection is secure.</p>", "bot check"),
        ("Attention Required! | Cloudflare", "<h1>Sorry, you have been blocked</h1><p>Why?</p>", "bot check"),
        ("Mill Museum", "<div id=root>Loading…</div>", "only by scripts"),
        ("Mill Museum", "<p>You need to enable JavaScript to run this app.</p>", "only by scripts"),
        ("Page not found | Mill Museum", "<h1>Page not found</h1><p>Go to the start page.</p>", "404"),
        ("Seite nicht gefunden", "<p>Die Seite existiert nicht.</p>", "404"),
        ("Error 404 (Not Found)!!1", "<p>That’s an error.</p>", "404"),
        ("Museum", "<h1>Whoops! We couldn't find that page</h1><p>Try the home page.</p>", "404"),
        ("Museum", "<p>Please enable cookies.</p><h1>Sorry, you have been blocked</h1>", "bot check"),
        ("502 Bad Gateway", "<h1>502 Bad Gateway</h1><p>nginx</p>", "error of its site"),
        ("301 Moved Permanently", "<p>The document has moved <a href=/x>here</a>.</p>", "another one"),
        ("Redirecting", "<p>If you are not redirected automatically, follow this link.</p>", "another one"),
    ],
)
def test_bot_checks_and_error_pages_are_reported(title: str, body: str, reason: str) -> None:
    with pytest.raises(NoContent, match=f"{reason}.*Save the page from a browser"):
        page_of(f"<html><head><title>{title}</title></head><body>{body}</body></html>")


@pytest.mark.parametrize(
    "body",
    [
        "<h1>Loading dock</h1><p>Loading is from nine to five.</p>",
        "<h1>HTTP 404</h1><p>It means that a page is not found.</p>",
        f"<h1>Access denied</h1><p>{'The film tells of a spy who is denied access. ' * 40}</p>",
        "<h1>Mill</h1><p>Access denied? Ask the keeper.</p>",
        *(
            f"<title>{title}</title><h1>{title}</h1><p>It has 312 pages.</p>"
            for title in ("Access denied (novel)", "Just a Moment (album)", "Found", "Gone")
        ),
    ],
)
def test_articles_about_bot_checks_and_errors_are_read(body: str) -> None:
    assert page_of(f"<html><body>{body}</body></html>").blocks
