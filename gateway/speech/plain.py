"""An answer's text as it is said aloud: plain sentences, without what is only there to be seen."""

import re

_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,2000}(?:\s[^()\n]{0,300})?\)")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s()<>\[\]]*[^\s()<>\[\].,;:!?]", re.IGNORECASE)
_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.MULTILINE)
_CODE_FENCE = re.compile(r"^[ \t]*```.*$", re.MULTILINE)
_LINE_START = re.compile(r"^[ \t]*(?:#{1,6}\s+|>\s?|[-*+•]\s+)", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*(?:[-*_][ \t]*){3,}$|^(?=[ \t|:]*-)[ \t|:-]+$", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*{1,3}|__|~~|`+)(?=\S)(.{1,500}?)(?<=\S)\1")
_FOOTNOTE = re.compile(r"\s?\[\^?\d{1,3}\]")
_EMPTY_BRACKETS = re.compile(r"\(\s*\)|<\s*>|\[\s*\]")
_LINE_END = re.compile(r"([^\s.!?:;,…])[ \t]*\n+\s*")
_SPACE = re.compile(r"\s+")
_BEFORE_STOP = re.compile(r"\s+([.,;:!?])")
_SENTENCE_END = re.compile(r"[.!?…](?=\s|$)")
_MOST_TIMES = 4
"""Marks and addresses are left out, but there is an end to what is looked at."""


def spoken(text: str, most_chars: int) -> str:
    """What is to be said of `text`, at most so long, cut behind a sentence where it can be."""
    said = _CODE_FENCE.sub("", text[: _MOST_TIMES * most_chars])
    said = _ADDRESS.sub("", _LINK.sub(r"\1", said))
    said = _LINE_START.sub("", _ROW.sub(r"\1", _RULE.sub("", said)))
    said = _EMPHASIS.sub(r"\2", _FOOTNOTE.sub("", said)).replace("|", ",")
    said = _EMPTY_BRACKETS.sub("", said)
    said = _SPACE.sub(" ", _LINE_END.sub(r"\1. ", said))
    return _cut(_BEFORE_STOP.sub(r"\1", said).strip(" ,"), most_chars)


def _cut(said: str, most_chars: int) -> str:
    if len(said) <= most_chars:
        return said
    ends = [end.end() for end in _SENTENCE_END.finditer(said, 0, most_chars)]
    return said[: ends[-1]] if ends else said[:most_chars].rsplit(" ", 1)[0]
