"""Forms as browsers send them (RFC 7578)."""

import os
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlencode

FilePart = tuple[str, tuple[str, bytes, str]]
"""A field's name; the file's name, its content and its media type."""

Fields = Mapping[str, str] | Mapping[str, str | list[str]]
"""Values by name; a list stands for a field that is repeated."""

_ESCAPED = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})
"""In names: WHATWG HTML, 4.10.21.8."""


def form(files: Sequence[FilePart], fields: Fields) -> tuple[str, bytes]:
    """Return the media type and the body; without files there is no boundary in it."""
    if not files:
        return "application/x-www-form-urlencoded", urlencode(fields, doseq=True).encode()
    boundary = os.urandom(16).hex()  # that nobody who writes a part can foresee
    pieces = _pieces(f"--{boundary}\r\n", files, fields)
    return f"multipart/form-data; boundary={boundary}", b"".join([*pieces, f"--{boundary}--\r\n".encode()])


def _pieces(opening: str, files: Sequence[FilePart], fields: Fields) -> Iterator[bytes]:
    for name, field in fields.items():
        for value in (field,) if isinstance(field, str) else field:
            yield f"{opening}{_disposition(name)}\r\n\r\n{value}\r\n".encode()
    for name, (filename, content, media_type) in files:
        head = f'{_disposition(name)}; filename="{filename.translate(_ESCAPED)}"'
        yield f"{opening}{head}\r\nContent-Type: {media_type}\r\n\r\n".encode()
        yield content
        yield b"\r\n"


def _disposition(name: str) -> str:
    return f'Content-Disposition: form-data; name="{name.translate(_ESCAPED)}"'
