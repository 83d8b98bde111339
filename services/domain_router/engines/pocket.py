"""A linear model over the question's n-grams, the words that OCR read, and domain word lists."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contracts.domain_router import Domain
from services.domain_router.engine import RGB
from services.domain_router.engines.domain_words import evidence
from services.domain_router.engines.hashing import SparseRow, features

MODEL = Path(__file__).with_name("pocket_model.npz")
BUCKETS = 1 << 14
_LISTED_IN_PHOTO = 0.5  # a listed word in the photo says less than one in the question
_MOST_IN_PHOTO = 1.5  # words of one domain: a long menu must not decide alone

Matrix = NDArray[np.float64]


def describe(question: str, recognized_text: str) -> tuple[SparseRow, Matrix]:
    """Hashed features in `BUCKETS` dimensions, and (2 * domains,) word-list evidence."""
    asked = evidence(question, len(Domain))
    seen = _LISTED_IN_PHOTO * np.minimum(evidence(recognized_text, len(Domain)), _MOST_IN_PHOTO)
    return features(question, recognized_text, BUCKETS), np.concatenate([asked, seen])


@dataclass(frozen=True, slots=True)
class LinearModel:
    """`hashed`: (BUCKETS, domains); `listed`: (2 * domains, domains); `bias`: (domains,)."""

    hashed: Matrix
    listed: Matrix
    bias: Matrix
    temperature: float

    @classmethod
    def load(cls, path: Path = MODEL) -> "LinearModel":
        """Read what `services.domain_router.train_pocket` wrote; ValueError if the shapes do not fit."""
        with np.load(path, allow_pickle=False) as stored:
            model = cls(
                stored["hashed"].astype(np.float64),
                stored["listed"].astype(np.float64),
                stored["bias"].astype(np.float64),
                float(stored["temperature"]),
            )
        if model.hashed.shape != (BUCKETS, len(Domain)) or model.listed.shape != (
            2 * len(Domain),
            len(Domain),
        ):
            raise ValueError(f"{path.name} does not fit this code; run the training script again")
        return model

    def probabilities(self, question: str, recognized_text: str) -> Matrix:
        """(domains,), summing to 1."""
        row, listed = describe(question, recognized_text)
        logits = row.values @ self.hashed[row.indices] + listed @ self.listed + self.bias
        scaled = logits / self.temperature
        exponentials = np.exp(scaled - scaled.max())
        return np.asarray(exponentials / exponentials.sum())


class PocketDomainRouter:
    """Reads no pixels: the photo's part is what OCR found in it."""

    name = "pocket-linear"

    def __init__(self, model: LinearModel | None = None) -> None:
        self._model = model or LinearModel.load()

    def classify(self, question: str, recognized_text: str, image: RGB | None) -> list[float]:
        """Probabilities in the order of `Domain`."""
        return [float(p) for p in self._model.probabilities(question, recognized_text)]
