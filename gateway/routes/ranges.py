"""Parts of a sound (RFC 9110, section 14): iPhones play none whose server does not give them."""

import re

from starlette.responses import Response

_ONE_RANGE = re.compile(r"bytes=([0-9]{0,12})-([0-9]{0,12})", re.IGNORECASE)


def ranged(content: bytes, media_type: str, asked: str | None, headers: dict[str, str]) -> Response:
    """All of `content`, or the part that the header `Range` asks for. What cannot be read asks for all."""
    headers = {**headers, "Accept-Ranges": "bytes"}
    found = _ONE_RANGE.fullmatch(asked.strip()) if asked else None
    first, last = found.groups() if found else ("", "")
    if not (first or last) or (first and last and int(last) < int(first)):
        return Response(content, 200, headers, media_type)
    size = len(content)
    begin = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if begin >= size:
        return Response(b"", 416, {**headers, "Content-Range": f"bytes */{size}"})
    told = {**headers, "Content-Range": f"bytes {begin}-{end - 1}/{size}"}
    return Response(content[begin:end], 206, told, media_type)
