"""Read MHTML."""

from email.message import EmailMessage

import pytest

from corpus.formats.process import read_document
from corpus.pages import NoContent, PageFormat
from tests.unit.corpus.formats.documents import shown

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
