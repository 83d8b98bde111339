"""The engine's protocol and its types."""

from typing import Protocol

from chassis.rgb import RGB, probe_picture

IMAGE_SIDE = 672
"""The longer side, in pixels, to which photos are scaled down for an engine, in training as in serving."""


class DomainRouter(Protocol):
    """Classifies questions; implementations are synchronous, blocking and thread-safe."""

    name: str

    def classify(self, question: str, recognized_text: str, image: RGB | None) -> list[float]:
        """Return calibrated probabilities in the order of `contracts.domain_router.Domain`; they sum to 1.

        `recognized_text`: what OCR read in the photo; empty if it read nothing or was not asked.
        """
        ...

    def probe(self) -> object:
        """Classify a sample."""
        return self.classify("Who wrote this book?", "", probe_picture())
