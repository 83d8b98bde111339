"""Parts of requests to ready-made model servers that see pictures."""

import base64
from typing import Any


def data_uri(jpeg: bytes) -> str:
    """Return a JPEG as a `data:` URI: servers are never given an address to fetch."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode("ascii")


def content_part(content: str | bytes) -> dict[str, Any]:
    """Return a part of a chat message in OpenAI's shape: a text, or a JPEG."""
    if isinstance(content, str):
        return {"type": "text", "text": content}
    return {"type": "image_url", "image_url": {"url": data_uri(content)}}


def without_controls(text: str) -> str:
    """Return the text with a space in each opening mark of a control token.

    A page could otherwise end its own prompt, or claim the place of the picture (`<|image_pad|>`).
    """
    return text.replace("<|", "< |")
