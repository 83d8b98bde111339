"""verifier: is the answer supported by the evidence. `POST /v1/verify` (JSON)."""

from enum import StrEnum

from pydantic import Field

from contracts.message import Message, Request


class VerifyRequest(Request):
    """`evidence`: the passages that the answer was made from, in citation order."""

    question: str = Field(min_length=1, max_length=4096)
    answer: str = Field(min_length=1, max_length=8192)
    evidence: list[str] = Field(max_length=64)
    entity: str | None = None


class CheckName(StrEnum):
    """What is checked."""

    ENTITY = "entity"
    NUMBERS = "numbers"
    DATES = "dates"
    NEGATION = "negation"
    TERMS = "terms"


class Check(Message):
    """One check's verdict; `detail` says in a sentence what was missing, empty when it passed."""

    name: CheckName
    passed: bool
    detail: str = ""


class SupportingSpan(Message):
    """`evidence[evidence_index][start:end] == text`."""

    evidence_index: int
    start: int
    end: int
    text: str


class VerifyReply(Message):
    """`probability` that the evidence supports the answer; `supported`: it is above the threshold."""

    supported: bool
    probability: float
    span: SupportingSpan | None = None
    checks: list[Check]
