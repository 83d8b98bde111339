"""What of a long page is its main part."""

import pytest

from corpus.formats.html import read_html
from tests.unit.corpus.formats.documents import passages

PROSE = "".join(
    f"<p>The valley has many mills, and the county counts them in spring; paragraph {n} tells of it.</p>"
    for n in range(20)
)
TEASERS = "".join(
    f"<h3><a href=/{n}>A storm of year {n}</a></h3><p>It rained for days in 999.</p>" for n in range(4)
)


def shown(body: str) -> str:
    return "\n".join(passages(read_html(f"<html><body>{body}</body></html>".encode())))


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
def test_sections_beside_the_text_stay(page: str) -> None:
    text = shown(page.format(prose=PROSE))
    assert "8 to 14" in text
    assert "to 12" in text
    assert "paragraph 19" in text


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
def test_other_matter_beside_the_text_goes(beside: str) -> None:
    for page in (f"<div><div>{PROSE}</div>{beside}</div>", f"<main>{PROSE}</main>{beside}"):
        text = shown(page)
        assert "999" not in text
        assert "paragraph 19" in text


def test_many_controls_are_taken_out_in_one_pass() -> None:
    assert "yyy" in shown("<button>x</button>y" * 20_000)
