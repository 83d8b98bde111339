"""What is put to the model: frozen, and complete enough to read the reply."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

Schema = TypeVar("Schema", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of the user's message."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A photo; it travels inside the request, never as an address that the server would fetch."""

    jpeg: bytes = field(repr=False)

    @property
    def data_uri(self) -> str:
        """RFC 2397 form. Made anew for each call, under a millisecond: no photo outlives its request."""
        return "data:image/jpeg;base64," + base64.b64encode(self.jpeg).decode("ascii")


@dataclass(frozen=True, slots=True)
class Prompt(Generic[Schema]):
    """One call. `schema` is both what the server is told to write and what its reply is parsed by.

    `name` ([a-z0-9_-], up to 64) labels metrics and names the JSON schema; `max_tokens` bounds the reply.
    `temperature` 0 writes what is likeliest; above it, `seed` tells draws apart (None: the endpoint's).
    `text_tokens`: what its texts take at most (`gateway.llm.tokens`), without a photo.
    `hear` is given the reply so far, each time a field of it is complete and another follows; a list of
    labelled lines may still grow.
    `in_lines`: what stands in place of the last part where no server can hold the model to the schema.
    """

    name: str
    system: str
    user: tuple[TextPart | ImagePart, ...]
    schema: type[Schema]
    max_tokens: int
    temperature: float = 0.0
    seed: int | None = None
    text_tokens: int = 0
    hear: Callable[[Schema], None] | None = None
    in_lines: str = ""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A call of the same chat, and what the model wrote then. `tokens`: of all its texts, at most."""

    user: tuple[TextPart | ImagePart, ...]
    reply: str
    tokens: int


@dataclass(frozen=True, slots=True)
class TextPrompt:
    """One call whose reply is text: an answer in a sentence, or tags that a paper's format asks for.

    `ends_with`: what closes the reply; nothing after it is waited for. `measured`: token probabilities too.
    `earlier`: the call that this one goes on from, if it does; its photo is not shown again.
    The rest as in `Prompt`.
    """

    name: str
    system: str
    user: tuple[TextPart | ImagePart, ...]
    max_tokens: int
    ends_with: str = ""
    measured: bool = False
    temperature: float = 0.0
    seed: int | None = None
    text_tokens: int = 0
    earlier: Earlier | None = None


def user_turns(prompt: Prompt[Any] | TextPrompt) -> tuple[tuple[TextPart | ImagePart, ...], ...]:
    """What the user says, turn by turn; the last is what the model is to reply to."""
    earlier = prompt.earlier if isinstance(prompt, TextPrompt) else None
    return (prompt.user,) if earlier is None else (earlier.user, prompt.user)
