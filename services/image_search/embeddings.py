"""The de-facto wire shape of image embeddings (Infinity's, with OpenAI's list as the reply)."""

import base64
import binascii
from typing import Literal

from pydantic import Field

from chassis.errors import InvalidRequest, MalformedRequest
from contracts.message import Message


class EmbeddingsRequest(Message):
    """`input`: `data:` URIs; nothing is fetched. Unknown options are ignored, as clients expect."""

    model: str = ""
    input: list[str] = Field(min_length=1, max_length=64, fail_fast=True)
    modality: Literal["image"] = "image"


class Embedding(Message):
    """One vector; `index` is the place of its input."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float]


class EmbeddingsUsage(Message):
    """Images cost no tokens; clients of the shape read the field."""

    prompt_tokens: int = 0
    total_tokens: int = 0


class EmbeddingsReply(Message):
    """OpenAI's list."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: EmbeddingsUsage = EmbeddingsUsage()


def data_of_uri(uri: str) -> bytes:
    """The bytes of a base64 `data:` URI. Raises `InvalidRequest` and `MalformedRequest`."""
    head, comma, body = uri.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        raise InvalidRequest("Each input must be a data: URI with base64; URLs are not fetched.")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedRequest("An input is not valid base64.") from error
