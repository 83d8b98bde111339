"""Whether an answer is a refusal: by the words of each published kit (`text.is_refusal` is kinder)."""

import re

_NOT_PLAIN = re.compile(r"[^a-z0-9\s]")


def literal_refusal(said: str) -> bool:
    """KDD Cup 2025's rule: these very characters, in any case; a typographic apostrophe is another."""
    return "i don't know" in said.lower()


def plain_refusal(said: str) -> bool:
    """CRAG-MM 2026's rule: all but a-z, 0-9 and white space is taken out first, apostrophes too."""
    plain = _NOT_PLAIN.sub("", said.lower())
    return "i dont know" in plain or "i do not know" in plain


def refusal_by_all(said: str) -> bool:
    """Whether both kits take it for missing, so that no judge needs to be asked."""
    return literal_refusal(said) and plain_refusal(said)
