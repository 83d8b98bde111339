"""verifier: is the answer supported by the evidence. `POST /v1/verify` (JSON)."""

from enum import StrEnum

from pydantic import Field

from contracts.message import Message, Request


class VerifyRequest(Request):
    """`evidence`: the passages that the answer was made from, in citation order.

    `token_probabilities`: of the answer's own tokens, where its model tells them; `token_min` and
    `token_mean`: what their minimum and mean must reach (QA-Dragon, sections 3.7.2 and 4.3).
    `model_judgement`: a model judge's probability that the answer is right, where one was asked.
    """

    question: str = Field(min_length=1, max_length=4096)
    answer: str = Field(min_length=1, max_length=8192)
    evidence: list[str] = Field(max_length=64, fail_fast=True)
    entity: str | None = None
    token_probabilities: list[float] = Field(default=[], max_length=4096, fail_fast=True)
    token_min: float = Field(default=0.60, ge=0, le=1)
    token_mean: float = Field(default=0.90, ge=0, le=1)
    model_judgement: float | None = Field(default=None, ge=0, le=1)


class CheckName(StrEnum):
    """What is checked."""

    ENTITY = "entity"
    NUMBERS = "numbers"
    DATES = "dates"
    NEGATION = "negation"
    TERMS = "terms"
    TOKEN_MIN = "token_min"
    TOKEN_MEAN = "token_mean"
    JUDGE = "judge"


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
    """`probability` that the evidence supports the answer; `supported`: it is above the threshold.

    `evidence_probability`: the part of it that comes from the evidence, before what models said of the answer
    can lower it; None where the evidence was not read.
    """

    supported: bool
    probability: float
    evidence_probability: float | None = None
    span: SupportingSpan | None = None
    checks: list[Check]
