"""Read EPUB, CSV, TSV and MHTML."""

from email.message import EmailMessage

import pytest

from corpus.formats.process import read_document
from corpus.pages import NoContent, PageFormat
from tests.unit.corpus.formats.documents import lines_of, shown, zipped

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
def test_broken_or_malicious_archive_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(NoContent, match=reason):
        read_document(PageFormat.EPUB, content)


ROWS = ["Bridge: Birch Bridge; Length, m: 31,5", "Bridge: Salt Bridge; Length, m: 112"]


@pytest.mark.parametrize(
    "text",
    [
        'Bridge,"Length, m"\nBirch Bridge,"31,5"\nSalt Bridge,112\n',
        "Bridge;Length, m\r\nBirch Bridge;31,5\r\nSalt Bridge;112",
        "sep=|\nBridge|Length, m\nBirch Bridge|31,5\nSalt Bridge|112",
        "\ufeffBridge\tLength, m\nBirch Bridge\t31,5\nSalt Bridge\t112",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_rows_carry_their_column_names_whatever_the_delimiter(text: str, encoding: str) -> None:
    assert lines_of(PageFormat.CSV, text.encode(encoding)) == ROWS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("height,112 m\nopened,1956\n", ["height: 112 m", "opened: 1956"]),
        ("Country,2022,2023\nNorway,5.4,5.5\n", ["Country: Norway; 2022: 5.4; 2023: 5.5"]),
        ("Birch,31,1956\nSalt,112,1971\n", ["Birch; 31; 1956", "Salt; 112; 1971"]),
        ("Museums\n\nName,Town,Opens\nMill,Lindvik,9\n", ["Museums", "Name: Mill; Town: Lindvik; Opens: 9"]),
        ('Name,Note,Year\nMill,"two\nlines",1820\n', ["Name: Mill; Note: two lines; Year: 1820"]),
        ('Name,Note,Year\nMill,5" wheel,1820\n', ['Name: Mill; Note: 5" wheel; Year: 1820']),
        ('Name,Note,Year\nMill,"open,1820\n', ['Name: Mill; Note: "open; Year: 1820']),
        ("Opening hours\nMonday closed\n", ["Opening hours", "Monday closed"]),
        ("Name,Town,Opens\nMill,Lindvik\n", ["Name: Mill; Town: Lindvik"]),
    ],
)
def test_tables_with_and_without_column_names(text: str, expected: list[str]) -> None:
    assert lines_of(PageFormat.CSV, text.encode()) == expected


def test_a_tsv_keeps_its_commas() -> None:
    content = "Name\tTown\tNote\nMill\tLindvik, Norway\told, but open\n".encode("cp1252")
    assert lines_of(PageFormat.TSV, content) == ["Name: Mill; Town: Lindvik, Norway; Note: old, but open"]


def test_a_table_of_a_million_columns_is_refused() -> None:
    with pytest.raises(NoContent, match="too wide"):
        lines_of(PageFormat.CSV, b",".join([b"x"] * 1_000_000))


HTML = "<html><title>The mill</title><body><h1>The mill</h1><p>Café opens at nine.</p></body></html>"


def archive(encoding: str = "utf-8") -> bytes:
    message = EmailMessage()
    message["Snapshot-Content-Location"] = "https://mill.example/visit"
    message["Subject"] = "The mill"
    message.add_related(b"GIF89a", "image", "gif")
    page = EmailMessage()
    page.set_content(HTML, "html", charset=encoding, cte="quoted-printable")
    message.attach(page)
    return message.as_bytes()


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_an_archive_is_read_as_its_page(encoding: str) -> None:
    page = read_document(PageFormat.MHTML, archive(encoding))
    assert shown(page) == ["# The mill", "Café opens at nine."]
    assert (page.url, page.title) == ("https://mill.example/visit", "The mill")


@pytest.mark.parametrize("content", [b"words", archive()[:300], b"Content-Type: text/html\n\n", b"\0" * 99])
def test_an_archive_without_a_page_is_refused(content: bytes) -> None:
    with pytest.raises(NoContent):
        read_document(PageFormat.MHTML, content)
