"""Labels as CRAG-MM's words. Codes mean what the dataset's own features say: no two datasets number alike."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluation.data.checks import BadRow

VOCABULARY: Mapping[str, tuple[str, ...]] = {
    "domain": (
        "animal",
        "book",
        "food",
        "general object recognition",
        "local",
        "math and science",
        "plants and gardening",
        "shopping",
        "sports and games",
        "style and fashion",
        "text understanding",
        "vehicle",
        "other",
    ),
    "query_category": (
        "simple-recognition",
        "simple-knowledge",
        "multi-hop",
        "comparison",
        "aggregation",
        "reasoning",
    ),
    "dynamism": ("static", "slow-changing", "fast-changing", "real-time"),
    "image_quality": ("normal", "low light", "blurred", "truncated", "occluded", "rotated"),
}
"""The benchmark's words, by column."""

_DEEPEST = 32


@dataclass(frozen=True, slots=True)
class Labels:
    """`names`: of each column's codes, in their order, as the dataset declares them."""

    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def word(self, column: str, value: object) -> str:
        """The label's word, empty where there is none. Raises `BadRow`."""
        if value is None or value == "":
            return ""
        if isinstance(value, str):
            return self._known(column, value)
        names = self.names.get(column, ())
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadRow("unknown_label", f"{column} is neither a code nor a word.")
        if not names:
            raise BadRow("unknown_label", f"{column} is the code {value}, and no features say what it means.")
        if not 0 <= value < len(names):
            raise BadRow("unknown_label", f"{column} has no code {value}, only 0 to {len(names) - 1}.")
        return canonical(column, names[value]) or names[value]

    def _known(self, column: str, word: str) -> str:
        spelled = canonical(column, word)
        if spelled:
            return spelled
        if word in self.names.get(column, ()):
            return word
        raise BadRow("unknown_label", f"{column} knows no {word[:60]!r}.")


def canonical(column: str, word: str) -> str:
    """The benchmark's spelling of a word (`Low-Light` is `low light`), empty where it knows none such."""
    wanted = _plain(word)
    return next((each for each in VOCABULARY[column] if _plain(each) == wanted), "")


def labels_of(features: object) -> Labels:
    """The class names in a description of features as the `datasets` library writes it, however nested."""
    return Labels(dict(_class_labels(features, "", 0)))


def _class_labels(node: Any, column: str, depth: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    if depth > _DEEPEST:
        return
    if isinstance(node, list):
        for each in node:
            yield from _class_labels(each, column, depth + 1)
    elif isinstance(node, Mapping):
        names = node.get("names")
        if node.get("_type") == "ClassLabel" and column in VOCABULARY:
            yield column, tuple(map(str, names)) if isinstance(names, list) else ()
            return
        for key, value in node.items():
            yield from _class_labels(value, key if key in VOCABULARY else column, depth + 1)


def _plain(word: str) -> str:
    return re.sub(r"[\s_\-–]+", " ", word).strip().casefold()
