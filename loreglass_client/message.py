"""The bases of the gateway's replies, and their words. What a newer gateway adds is accepted."""

from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """A reply, or a part of one."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class Word(StrEnum):
    """One of some words. A word that is not known here yet is a member without a name of its own."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        member = str.__new__(cls, value)
        member._name_, member._value_ = "UNKNOWN", value
        return member


class Reason(Word):
    """The reason of the reply."""

    ANSWERED = "answered"
    MODEL_UNSURE = "model_unsure"
    UNSUPPORTED = "unsupported"
    NO_EVIDENCE = "no_evidence"
    TIMED_OUT = "timed_out"
    OVERLOADED = "overloaded"
    UNAVAILABLE = "unavailable"
    NOTHING_INDEXED = "nothing_indexed"
    LANGUAGE = "language"
    NEEDS_PHOTO = "needs_photo"
    NOT_HEARD = "not_heard"
    NOT_REMEMBERED = "not_remembered"
    LOW_CONFIDENCE = "low_confidence"


class Route(Word):
    """The three branches of QA-Dragon's search router (section 3.2, Table 1)."""

    DIRECT = "direct"
    VERIFY = "verify"
    RAG = "rag"


class Verification(Word):
    """The check of the answer against its sources: the pipeline or route has no such check (`none`),
    it was (`verified`), or what checks could not be had (`unverified`).
    """

    NONE = "none"
    VERIFIED = "verified"
    UNVERIFIED = "unverified"


class CitationKind(Word):
    """The source of a snippet: the photo itself, the index of images or of pages, the open web, or the
    asker's memory of what was seen before.
    """

    PHOTO = "photo"
    IMAGE = "image"
    PAGE = "page"
    WEB = "web"
    MEMORY = "memory"


class LookedAtKind(Word):
    """The use of a region of the photo: it was searched as an image, or its text was read."""

    CROP = "crop"
    TEXT = "text"
