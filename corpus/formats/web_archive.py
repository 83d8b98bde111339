"""MHTML: a web page and its parts in one file, as browsers save it (RFC 2557)."""

from email import message_from_bytes, policy
from email.message import EmailMessage

import webencodings

from corpus.formats.html import read_html
from corpus.pages import NoContent, Page
from corpus.values import web_url


def read_web_archive(content: bytes) -> Page:
    """Read the page of the archive. Raises `NoContent`."""
    message = message_from_bytes(content, policy=policy.default.clone(max_line_length=0))
    page = next((part for part in message.walk() if part.get_content_type() == "text/html"), None)
    body = page.get_payload(decode=True) if isinstance(page, EmailMessage) else None
    if not isinstance(body, bytes) or page is None:
        raise NoContent("There is no web page in the file. Save the page as MHTML or HTML again.")
    charset = webencodings.lookup(page.get_content_charset() or "")
    if charset is not None:
        text, _ = webencodings.decode(body, charset)
        body = text.encode("utf-8-sig")
    read = read_html(body)
    addresses = (page.get("Content-Location"), message.get("Snapshot-Content-Location"))
    address = next(filter(None, (web_url(str(each)) for each in addresses if each)), "")
    return Page(read.url or address, read.title, read.blocks, read.last_modified)
