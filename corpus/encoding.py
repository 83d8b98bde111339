"""Decode pages as browsers do (WHATWG's Encoding standard, by webencodings; HTML's encoding sniffing)."""

import re

import webencodings

_DECLARATION = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]{1,40})|^<\?xml[^>]{0,100}encoding=["']([\w:.-]{1,40})""",
    re.IGNORECASE,
)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_SNIFFED_BYTES = 1_024


def decode_page(content: bytes) -> str:
    """Return the text by its byte order mark, else its declaration, else UTF-8, else windows-1252."""
    text, _ = webencodings.decode(content, _fallback(content))
    return str(text)


def _fallback(content: bytes) -> webencodings.Encoding:
    """Return the encoding of a page without a byte order mark."""
    match = _DECLARATION.search(_COMMENT.sub(b"", content[:_SNIFFED_BYTES]))
    declared = webencodings.lookup((match[1] or match[2]).decode("ascii")) if match else None
    if declared is not None:
        # A declaration that is readable as ASCII does not stand in a UTF-16 file.
        return webencodings.UTF8 if declared.name.startswith("utf-16") else declared
    text = content.decode(errors="replace")
    wrong = text.count("\ufffd")
    # A few broken characters among many whole ones: the file is UTF-8, and was cut or pasted into.
    is_utf8 = not wrong or len(_NOT_ASCII.findall(text)) > 2 * wrong
    return webencodings.UTF8 if is_utf8 else webencodings.lookup("windows-1252")
