"""Words that everyday English uses for the same relation: "Who wrote it?" is answered by "the author is"."""

import tomllib
from importlib.resources import files

from language.words import fold, stem


def expansions(stem: str) -> frozenset[str]:
    """Stems of the words that may say the same as those with this stem, itself left out."""
    return _EXPANSIONS.get(stem, frozenset())


def opposites(stem: str) -> frozenset[str]:
    """Stems of the words that deny this one ("before" and "after")."""
    return _OPPOSITES.get(stem, frozenset())


def _read(name: str) -> dict[str, frozenset[str]]:
    """Each stem of the table called `name`, with the other stems of its lines."""
    text = files("language").joinpath("paraphrases.toml").read_text(encoding="utf-8")
    found: dict[str, frozenset[str]] = {}
    for line in str(tomllib.loads(text)[name]).splitlines():
        group = frozenset(stem(fold(word)) for word in line.split())
        for each in group:
            found[each] = found.get(each, frozenset()) | group - {each}
    return found


_EXPANSIONS = _read("groups")
_OPPOSITES = _read("opposites")
