"""A conversation as the messages of `POST /v1/chat/completions`."""

import base64
from collections.abc import Sequence
from typing import Literal

from contracts.chat import ChatMessage, ImageContent, ImageUrl, TextContent

_ROLES: tuple[Literal["user"], Literal["assistant"]] = ("user", "assistant")


def messages_of(history: Sequence[tuple[str, str]], question: str, photo: bytes | None) -> list[ChatMessage]:
    """The conversation's (question, answer) pairs and the question; the photo came with the first message."""
    said = [
        ChatMessage(role=role, content=text)
        for turn in history
        for role, text in zip(_ROLES, turn, strict=True)
    ]
    first, *rest = [*said, ChatMessage(role="user", content=question)]
    if photo is None:
        return [first, *rest]
    uri = f"data:application/octet-stream;base64,{base64.b64encode(photo).decode()}"
    shown = ImageContent(type="image_url", image_url=ImageUrl(url=uri))
    words = TextContent(type="text", text=first.text)
    return [ChatMessage(role="user", content=[words, shown]), *rest]
