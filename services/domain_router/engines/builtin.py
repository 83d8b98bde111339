"""A linear head on the sentence encoder that came with the platform."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chassis.models.encoders import shared_sentence_encoder
from chassis.rgb import RGB
from services.domain_router.engine import DomainRouter
from services.domain_router.measures import Matrix, softmax

HEAD = Path(__file__).with_name("builtin_head.npz")
_MOST_READ = 300
"""Characters of a photo's print that are read: a long menu must not decide alone."""


def router_text(question: str, recognized_text: str) -> str:
    """Return the text that the router encodes: the question, then the photo's print."""
    return f"{question}\n{recognized_text[:_MOST_READ]}".strip()


@dataclass(frozen=True, slots=True)
class Head:
    """`weights`: [size, domains]; `bias`: [domains]; logits are divided by `temperature`."""

    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    temperature: float

    @classmethod
    def load(cls, path: Path = HEAD) -> "Head":
        """Return what `services.domain_router.train_builtin` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            return cls(stored["weights"], stored["bias"], float(stored["temperature"]))

    def probabilities(self, vector: NDArray[np.float32]) -> Matrix:
        """Return [domains], summing to 1."""
        logits = (vector @ self.weights + self.bias).astype(np.float64)
        return softmax(logits / self.temperature)


class BuiltinDomainRouter(DomainRouter):
    """Reads no pixels: the photo's part is what OCR found in it."""

    name = "builtin-linear"

    def __init__(self) -> None:
        self._encoder = shared_sentence_encoder()
        self._head = Head.load()

    def classify(self, question: str, recognized_text: str, image: RGB | None) -> list[float]:
        """Probabilities in the order of `Domain`."""
        (vector,) = self._encoder.queries([router_text(question, recognized_text)])
        return [float(each) for each in self._head.probabilities(vector)]
