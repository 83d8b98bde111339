"""The wire shape of `POST /v1/chat/completions`, as far as our client speaks it."""

import base64
from collections.abc import Sequence

from contracts.answer import Answer, Experiment
from contracts.message import Message, Request


class ImageUrl(Request):
    """A `data:` URI."""

    url: str


class Part(Request):
    """A text or a photo."""

    type: str
    text: str | None = None
    image_url: ImageUrl | None = None


class ChatMessage(Request):
    """One message of the conversation."""

    role: str
    content: str | list[Part]


class ChatQuestion(Request):
    """A conversation whose last message is the question."""

    model: str
    messages: list[ChatMessage]
    deadline_ms: int | None = None
    experiment: Experiment | None = None


class ChatAnswer(Message):
    """The member of the reply that has everything: what `POST /answer` would have sent."""

    loreglass: Answer


def messages_of(history: Sequence[tuple[str, str]], question: str, photo: bytes | None) -> list[ChatMessage]:
    """The conversation's (question, answer) pairs and the question; the photo came with the first message."""
    said = [
        ChatMessage(role=role, content=text)
        for turn in history
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    first, *rest = [*said, ChatMessage(role="user", content=question)]
    if photo is None:
        return [first, *rest]
    uri = f"data:application/octet-stream;base64,{base64.b64encode(photo).decode()}"
    shown = Part(type="image_url", image_url=ImageUrl(url=uri))
    return [ChatMessage(role="user", content=[Part(type="text", text=str(first.content)), shown]), *rest]
