"""Decode pages as browsers do (WHATWG's Encoding standard, by webencodings; HTML's encoding sniffing)."""

import re

import webencodings

_DECLARATION = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]{1,40})|^<\?xml[^>]{0,100}encoding=["']([\w:.-]{1,40})""",
    re.IGNORECASE,
)
_SNIFFED_BYTES = 1_024


def decode_page(content: bytes) -> str:
    """Return the text by its byte order mark, else its declaration, else UTF-8, else windows-1252."""
    text, _ = webencodings.decode(content, _fallback(content))
    return str(text)


def _fallback(content: bytes) -> webencodings.Encoding:
    """Return the encoding of a page without a byte order mark."""
    match = _DECLARATION.search(content[:_SNIFFED_BYTES])
    declared = webencodings.lookup((match[1] or match[2]).decode("ascii")) if match else None
    if declared is not None:
        # A declaration that is readable as ASCII does not stand in a UTF-16 file.
        return webencodings.UTF8 if declared.name.startswith("utf-16") else declared
    try:
        content.decode()
    except UnicodeDecodeError:
        return webencodings.lookup("windows-1252")
    return webencodings.UTF8
