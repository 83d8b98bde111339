"""Reads with the project's own cross-encoder, whose second head tells whether the passage answers at all."""

from collections.abc import Sequence
from functools import partial

from chassis.calibration import LogisticCurve
from chassis.models.encoders import CrossEncoder, Reading, shared_cross_encoder
from chassis.models.windows import Window
from services.reader.engines.clauses import find_clauses
from services.reader.engines.extractive import ExtractiveReader, ReadingOptions
from services.reader.engines.features import FEATURES
from services.reader.engines.spans import Logits


class CrossEncoderModel:
    """`ExtractiveModel` by the cross-encoder: "no answer" is weighed down by what the second head says."""

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model
        self.name = model.name

    def windows(self, question: str, passages: Sequence[str]) -> list[Window]:
        """See the protocol."""
        return self._model.windows(question, passages)

    def forward(self, windows: Sequence[Window]) -> list[Logits]:
        """See the protocol."""
        return [_weigh(each) for each in self._model.read(windows)]


def _weigh(reading: Reading) -> Logits:
    spans = reading.spans.copy()
    spans[:, 0] -= reading.answers
    return spans


def reader_of(model: CrossEncoder, curve: LogisticCurve) -> ExtractiveReader:
    """Return the reader of a model, whose probabilities are those of `curve`."""
    options = ReadingOptions(curve=curve)
    return ExtractiveReader(CrossEncoderModel(model), None, options, partial(find_clauses, model))


def open_builtin() -> ExtractiveReader:
    """Return the reader of the model that came with the platform."""
    model = shared_cross_encoder()
    return reader_of(model, LogisticCurve.from_json(model.card["reader"], FEATURES))
