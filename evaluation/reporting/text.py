"""Words of others, made fit to be shown: no control characters, no turned writing direction, an end."""

import re
import unicodedata

SHORT, LONG = 160, 900
"""Characters: of a name, a title or a cell; of a question, an answer or a piece of evidence."""

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn"))
_JOINERS = "\u200c\u200d"  # Persian, Indic scripts and emoji are spelled with them
_SPACES = re.compile(r"\s+")
_MARKS_IN_A_ROW = 8


def shown(text: str, limit: int = LONG) -> str:
    """One paragraph of what is visible in `text`, cut at `limit` characters; a cut says how long it was."""
    spaced = _SPACES.sub(" ", text[: 4 * limit]).strip()
    visible = "".join(_tamed(spaced))
    if len(visible) <= limit and len(text) <= 4 * limit:
        return visible
    return f"{visible[:limit].rstrip()}… ({len(text):,} characters)"


def short(text: str, limit: int = SHORT) -> str:
    """The same for names and cells, with nothing but an ellipsis where it is cut."""
    visible = shown(text[: 2 * limit], 2 * limit)
    return visible if len(visible) <= limit else f"{visible[: limit - 1].rstrip()}…"


def _tamed(text: str) -> list[str]:
    """Without what is invisible or turns the line around; no more than a few marks on one letter."""
    kept: list[str] = []
    marks = 0
    for letter in text:
        category = unicodedata.category(letter)
        if category in _HIDDEN and letter not in _JOINERS:
            continue
        marks = marks + 1 if category.startswith("M") else 0
        if marks <= _MARKS_IN_A_ROW:
            kept.append(letter)
    return kept


def plural(count: int, thing: str, things: str | None = None) -> str:
    """`1 question`, `2,000 questions`."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"
