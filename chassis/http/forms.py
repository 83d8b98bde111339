"""Forms (`multipart/form-data`, RFC 7578) that are in memory as a whole: found by a search.

The exchange bounds how much of a body there is. Python's own search finds the boundaries in a photo quicker
than a parser that calls back for each piece, and each part is copied once. Text is UTF-8 whatever `charset`
says: some of the codecs that it may name take time that grows with the square of the text.
"""

from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO

from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from chassis.errors import MalformedRequest, PayloadTooLarge

_MOST_HEAD = 8 * 2**10
"""Bytes of a part's headers."""
_MOST_FIELD = 2**20
"""Bytes of a part that is no file."""
_LONGEST_BOUNDARY = 256
"""RFC 2046, 5.1.1 allows 70."""
_BLANK_LINE, _LINE_END = b"\r\n\r\n", b"\r\n"
_DISPOSITION = b"content-disposition"


async def read_form(request: Request, max_files: int, max_fields: int) -> FormData:
    """The form in the request's body; files stay in memory.

    Raises `PayloadTooLarge` for too many parts or a field that is too long, `MalformedRequest` for what is no
    whole form.
    """
    _, parameters = parse_options_header(request.headers.get("content-type"))
    boundary = parameters.get(b"boundary", b"")
    if not 0 < len(boundary) <= _LONGEST_BOUNDARY:
        raise _unreadable()
    body = b"".join([chunk async for chunk in request.stream()]).lstrip(_LINE_END)
    room, items = {True: max_files, False: max_fields}, list[tuple[str, str | UploadFile]]()
    for head, start, end in _parts(body, b"--" + boundary):
        name, filename = _named(head)
        room[filename is not None] -= 1
        if min(room.values()) < 0 or (filename is None and end - start > _MOST_FIELD):
            raise PayloadTooLarge("The form has too many parts, or one that is too long.")
        content = body[start:end]
        if filename is None:
            items.append((name, _text(content)))
        else:
            items.append((name, UploadFile(BytesIO(content), size=len(content), filename=filename)))
    return FormData(items)


def _parts(body: bytes, edge: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Of each part its headers, and where in `body` its content begins and ends."""
    if not body.startswith(edge):
        raise _unreadable()
    at, between = len(edge), _LINE_END + edge
    while not body.startswith(b"--", at):
        start = body.find(_BLANK_LINE, at, at + _MOST_HEAD)
        end = body.find(between, start + len(_BLANK_LINE)) if start >= 0 else -1
        if end < 0 or not body.startswith(_LINE_END, at):
            raise _unreadable()
        yield body[at + len(_LINE_END) : start], start + len(_BLANK_LINE), end
        at = end + len(between)


@lru_cache(256)
def _named(head: bytes) -> tuple[str, str | None]:
    """A part's name and, of a file, the file's; most parts of most forms have the same headers."""
    for line in head.split(_LINE_END):
        field, _, value = line.partition(b":")
        if field.strip().lower() == _DISPOSITION:
            _, options = parse_options_header(value.strip())
            if b"name" in options:
                filename = options.get(b"filename")
                told = None if filename is None else _text(filename)
                return _text(options[b"name"]), told
    raise _unreadable()


def _text(written: bytes) -> str:
    try:
        return written.decode()
    except UnicodeDecodeError:
        return written.decode("latin-1")


def _unreadable() -> MalformedRequest:
    return MalformedRequest("The form could not be read.")
