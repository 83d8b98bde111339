"""domain_router: which CRAG-MM domain a question is in. `POST /v1/classify`, multipart.

Parts: `question`, `recognized_text` (what OCR read, may be empty), `image` (optional).
The reply is vLLM's /classify shape.
"""

from enum import StrEnum

from contracts.message import Message


class Domain(StrEnum):
    """CRAG-MM's 13 domains (benchmark paper, Table 3)."""

    ANIMAL = "animal"
    BOOK = "book"
    FOOD = "food"
    GENERAL_OBJECT_RECOGNITION = "general object recognition"
    LOCAL = "local"
    MATH_AND_SCIENCE = "math and science"
    PLANTS_AND_GARDENING = "plants and gardening"
    SHOPPING = "shopping"
    SPORTS_AND_GAMES = "sports and games"
    STYLE_AND_FASHION = "style and fashion"
    TEXT_UNDERSTANDING = "text understanding"
    VEHICLE = "vehicle"
    OTHER = "other"


class Classification(Message):
    """`probs[i]` belongs to the i-th member of `Domain`; they sum to 1."""

    index: int
    label: Domain
    probs: list[float]
    num_classes: int


class ClassifyReply(Message):
    """One classification, in the list that the de-facto shape wants."""

    id: str
    model: str
    data: list[Classification]
