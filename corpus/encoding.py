"""The characters of a file, decided as browsers do (WHATWG's Encoding standard; HTML, encoding sniffing)."""

import codecs
import re

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]{1,40})|^<\?xml[^>]{0,100}encoding=["']([\w:.-]{1,40})""",
    re.IGNORECASE,
)
_SNIFFED = 1_024
"""Bytes in which a page says its encoding."""
_AS_BROWSERS = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-8",
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
}
"""Labels, by Python's names, that mean another encoding. A page that can say "UTF-16" in ASCII is none."""


def decoded(content: bytes) -> str:
    """Return the text: by its byte order mark, the declared encoding, else UTF-8, else windows-1252."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    if encoding := _declared(content):
        return content.decode(encoding, "replace")
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _declared(content: bytes) -> str:
    """Return the encoding that a page declares; empty where it declares none that is known."""
    found = _DECLARED.search(content[:_SNIFFED])
    if found is None:
        return ""
    try:
        name = codecs.lookup((found[1] or found[2]).decode("ascii")).name
    except (LookupError, UnicodeDecodeError):
        return ""
    return _AS_BROWSERS.get(name, name)
