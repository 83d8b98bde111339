"""reader: which words of the passages answer the question. `POST /v1/read` (JSON)."""

from enum import StrEnum

from pydantic import Field

from contracts.geometry import Box
from contracts.message import Message, Request


class PassageKind(StrEnum):
    """Where a passage comes from: a web page, an attribute of a known thing, or the photo itself."""

    PAGE = "page"
    ATTRIBUTE = "attribute"
    PHOTO = "photo"


class ReadPassage(Request):
    """`title`: of the page, or the thing that the attribute belongs to; the text need not repeat it.

    `boxes`: of a photo's text, one a line of `text`, as shares (0..1) of the photo's width and height; may be
    left out.
    """

    text: str = Field(max_length=20_000)
    title: str = Field(default="", max_length=1_000)
    kind: PassageKind = PassageKind.PAGE
    boxes: list[Box] = Field(default=[], max_length=512, fail_fast=True)


class ReadTurn(Request):
    """An earlier turn of the conversation."""

    question: str = Field(max_length=4096)
    answer: str = Field(max_length=8192)


class ReadRequest(Request):
    """`subject`: the name of the thing that "this", "it" or "here" in the question stands for, if known.

    `passages`: in the search's order, which tells how likely each answers; with their titles at most 200,000
    characters together. `history`: earlier turns, oldest first.
    `top_n`: how many answers to return at most.
    """

    question: str = Field(min_length=1, max_length=4096)
    passages: list[ReadPassage] = Field(max_length=64, fail_fast=True)
    subject: str | None = Field(default=None, max_length=1_000)
    history: list[ReadTurn] = Field(default=[], max_length=16, fail_fast=True)
    top_n: int = Field(default=1, ge=1, le=16)


class TextSpan(Message):
    """`passages[passage_index].text[start:end] == text`, in Unicode code points."""

    start: int
    end: int
    text: str


class ReadAnswer(Message):
    """`span`: the words that answer; `sentence`: the sentence that holds them.

    `spoken`: the answer as it may be said, at most 25 words. `probability`: calibrated, in 0..1, that the
    question is answered there and the span is right.
    """

    passage_index: int
    span: TextSpan
    sentence: TextSpan
    spoken: str
    probability: float = Field(ge=0, le=1)


class ReadReply(Message):
    """`answers`: best first, of different sentences; none where no passage says anything to the question."""

    model: str
    answers: list[ReadAnswer]
