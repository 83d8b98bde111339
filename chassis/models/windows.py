"""The part of a question and a passage that an encoder reads at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The question beside a part of a passage. `kinds`: token type ids, empty where the model has none.

    `offsets`: [tokens, 2], the characters of the passage that each token stands for; -1 for the question and
    for marks. `null`: the place of [CLS].
    """

    passage: int
    ids: tuple[int, ...]
    kinds: tuple[int, ...]
    offsets: NDArray[np.int64]
    null: int = 0


@dataclass(frozen=True, slots=True)
class SentenceAnswer:
    """A sentence, and the words in it that answer a question: `sentence[start:end]`."""

    sentence: str
    start: int
    end: int

    @property
    def text(self) -> str:
        """The words that answer."""
        return self.sentence[self.start : self.end]


def question_text(question: str, subject: str | None) -> str:
    """Return the question with the name of the thing it is about, unless it says the name itself."""
    return question if not subject or subject.casefold() in question.casefold() else f"{subject}: {question}"
