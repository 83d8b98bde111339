"""Grounding DINO without the model: labels to prompts ("a. b. c."), and boxes to regions.

A prompt is put together from token ids, not from text, so a label can neither end early (a period in
"dr. pepper" splits a phrase in two) nor speak to the model in its own marks ("[SEP]").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

MARKS = ("[CLS]", "[SEP]", ".", "?")
"""Separators of phrases in the model's text encoder (Liu et al. 2023, section 3.4: sub-sentence level)."""

_FRAME = 2  # [CLS] and [SEP] around a prompt
_PERIOD = 1


@dataclass(frozen=True, slots=True)
class Phrase:
    """A label in a prompt: tokens `start` to `end`, the period behind it included."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """Token ids with [CLS] and [SEP], and where each label is among them."""

    token_ids: tuple[int, ...]
    phrases: tuple[Phrase, ...]


class PromptWriter:
    """Writes prompts of at most `most_tokens` tokens with the model's own tokenizer. Thread-safe."""

    def __init__(self, tokenizer: Any, most_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._lock = Lock()  # a fast tokenizer cannot be used by two threads at once
        self._most_tokens = most_tokens
        self._begin, self._end, self._period, _ = tokenizer.convert_tokens_to_ids(list(MARKS))
        self._refused = {*tokenizer.all_special_ids, *tokenizer.convert_tokens_to_ids(list(MARKS))}

    def write(self, labels: Sequence[str], group_size: int) -> list[Prompt]:
        """Prompts of at most `group_size` labels, in order.

        A label that reads the same as an earlier one, or that has no token left once marks and unknown
        characters are gone, is left out; one that no prompt could hold is cut.
        """
        prompts: list[Prompt] = []
        group: list[tuple[str, list[int]]] = []
        for label, ids in self._tokens(labels).items():
            if len(group) == group_size or self._length([*group, (label, ids)]) > self._most_tokens:
                prompts.append(self._prompt(group))
                group = []
            group.append((label, ids))
        return [*prompts, self._prompt(group)] if group else prompts

    def _tokens(self, labels: Sequence[str]) -> dict[str, list[int]]:
        earlier: set[tuple[int, ...]] = set()
        tokens: dict[str, list[int]] = {}
        for label in labels:
            ids = self._ids(label)
            if ids and tuple(ids) not in earlier:
                earlier.add(tuple(ids))
                tokens[label] = ids
        return tokens

    def _ids(self, label: str) -> list[int]:
        text = label.encode(errors="ignore").decode()  # lone surrogates have no token
        with self._lock:
            encoded: list[int] = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        ids = [token for token in encoded if token not in self._refused]
        return ids[: self._most_tokens - _FRAME - _PERIOD]

    @staticmethod
    def _length(group: Sequence[tuple[str, list[int]]]) -> int:
        return _FRAME + sum(len(ids) + _PERIOD for _, ids in group)

    def _prompt(self, group: Sequence[tuple[str, list[int]]]) -> Prompt:
        token_ids = [self._begin]
        phrases: list[Phrase] = []
        for label, ids in group:
            start = len(token_ids)
            token_ids += [*ids, self._period]
            phrases.append(Phrase(label, start, len(token_ids)))
        return Prompt((*token_ids, self._end), tuple(phrases))


Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Detection:
    """A box in pixels of the photo, left, top, right, bottom, inside the photo."""

    box: tuple[float, float, float, float]
    label: str | None
    score: float

    @property
    def area(self) -> float:
        """Square pixels."""
        left, top, right, bottom = self.box
        return (right - left) * (bottom - top)


def clip(corners: Floats, width: int, height: int) -> Floats:
    """(n, 4) fractions of the photo as pixels inside of it."""
    size = np.array([width, height, width, height], np.float32)
    inside: Floats = np.clip(corners * size, 0, size)
    return inside


def label_of(scores: Floats, phrases: Sequence[Phrase], text_threshold: float) -> str | None:
    """The label whose tokens the box answers to most strongly; None when none passes the threshold.

    `scores` (tokens,). Of labels that share their strongest word ("red car", "car": equal scores do happen,
    a word's scores depend little on its phrase), the one with the larger part of its tokens above the
    threshold is the better match.
    """
    best = (0.0, 0.0)
    chosen: str | None = None
    for phrase in phrases:
        own = scores[phrase.start : phrase.end]
        above = own > text_threshold
        match = (float(own.max()), float(above.mean()))
        if above.any() and match > best:
            best, chosen = match, phrase.label
    return chosen


def without_doubles(detections: Sequence[Detection], most_overlap: float) -> list[Detection]:
    """By falling score, without boxes that overlap a better one by `most_overlap` or more.

    Within one prompt the model needs no suppression: its queries were trained to match one thing each. But
    labels are asked in several prompts, and "car" and "vehicle" then box the same thing twice. The limit is
    high so that things that stand close together, or one inside the other, stay apart.
    """
    ranked = sorted(detections, key=lambda each: -each.score)
    boxes = np.array([each.box for each in ranked], np.float64).reshape(-1, 4)
    alive = np.ones(len(ranked), bool)
    apart: list[Detection] = []
    for place, detection in enumerate(ranked):
        if not alive[place]:
            continue
        apart.append(detection)
        alive &= overlaps(boxes[place], boxes) < most_overlap
    return apart


def overlaps(box: npt.NDArray[np.float64], boxes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(n,) intersection over union of one box with (n, 4); boxes without area overlap nothing."""
    shared = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
    common = np.clip(shared, 0, None).prod(axis=1)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    union = areas + (box[2:] - box[:2]).prod() - common
    ratio: npt.NDArray[np.float64] = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return ratio
