"""Read EPUB."""

import pytest

from corpus.formats.process import read_document
from corpus.pages import NoContent, PageFormat
from tests.unit.corpus.formats.documents import shown, zipped

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)
BOOK = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>The Salt Road</dc:title>
<meta property="dcterms:modified">2024-05-01T10:00:00Z</meta></metadata><manifest>
<item id="two" href="text/two%202.xhtml" media-type="application/xhtml+xml"/>
<item id="one" href="text/one.xhtml" media-type="application/xhtml+xml"/>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/></manifest>
<spine><itemref idref="nav"/><itemref idref="one"/><itemref idref="two"/><itemref idref="gone"/></spine>
</package>"""
ONE = (
    '<?xml version="1.0"?><html xmlns:epub="http://www.idpf.org/2007/ops"><body><h1>Salt</h1>'
    '<p>The dam is 112<a epub:type="noteref" href="#n">1</a> m high.</p>'
    "<table><tr><th>Year</th><th>Pages</th></tr><tr><td>1956</td><td>312</td></tr></table></body></html>"
)
FILES: dict[str, str | bytes] = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": BOOK,
    "OEBPS/nav.xhtml": "<html><body><nav>Contents</nav></body></html>",
    "OEBPS/text/one.xhtml": ONE,
    "OEBPS/text/two 2.xhtml": "<html><body><h1>Iron</h1><p>It is 10<sup>3</sup> km long.</p></body></html>",
}


def test_a_book_is_read_in_the_order_of_its_spine() -> None:
    page = read_document(PageFormat.EPUB, zipped(FILES))
    assert shown(page) == [
        "# Salt",
        "The dam is 112 m high.",
        "Year: 1956; Pages: 312",
        "# Iron",
        "It is 10³ km long.",
    ]
    assert page.title == "The Salt Road"
    assert page.last_modified is not None


def test_an_encrypted_book_is_refused_and_one_with_encrypted_fonts_is_not() -> None:
    def with_encrypted(name: str) -> bytes:
        encryption = f'<encryption><CipherData><CipherReference URI="{name}"/></CipherData></encryption>'
        return zipped({**FILES, "META-INF/encryption.xml": encryption})

    assert read_document(PageFormat.EPUB, with_encrypted("OEBPS/font.otf")).blocks
    with pytest.raises(NoContent, match="without DRM"):
        read_document(PageFormat.EPUB, with_encrypted("OEBPS/text/one.xhtml"))


BOMB = zipped({"META-INF/container.xml": b" " * (97 << 20)})
LAUGHS = (
    '<!DOCTYPE a [<!ENTITY x "lol"><!ENTITY f SYSTEM "file:///etc/passwd">]><container>&x;&f;</container>'
)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"words", "damaged, or its name has the wrong suffix"),
        (zipped(FILES)[:-60], "damaged"),
        (zipped({"a.txt": "words"}), "part of the file is missing"),
        (BOMB, "too large when it is unpacked"),
        (zipped({"META-INF/container.xml": LAUGHS}), "part of the file is missing"),
        (zipped({**FILES, "META-INF/container.xml": "<a>" * 5_000}), "damaged"),
    ],
)
def test_a_broken_or_hostile_archive_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(NoContent, match=reason):
        read_document(PageFormat.EPUB, content)
