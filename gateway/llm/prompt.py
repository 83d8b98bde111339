"""Prompts: their parts, their words in TOML files, and the limits of what they may hold."""

import base64
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

Value = TypeVar("Value", bound=BaseModel | str)
"""The value of a reply: an object of the prompt's schema, or text."""


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
class Earlier:
    """An earlier call of the same chat, and its reply. `tokens`: of all its texts, at most."""

    user: tuple[TextPart | ImagePart, ...]
    reply: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Prompt(Generic[Value]):
    """One call. `schema`: what the server is told to write and what its reply is parsed by; `str` for text.

    `name` ([a-z0-9_-], up to 64) labels metrics and names the JSON schema; `max_tokens` bounds the reply.
    `temperature` 0 writes what is likeliest; above it, `seed` tells draws apart.
    `text_tokens`: what its texts take at most (`gateway.llm.delimiting`), without a photo.

    For an object: `in_lines` replaces the last part where no server can hold the model to the schema.

    For text: `ends_with` closes the reply; nothing after it is waited for. `measured`: token probabilities
    too, which objects always have. `earlier`: the call that this one continues; its photo is not sent again.
    """

    name: str
    system: str
    user: tuple[TextPart | ImagePart, ...]
    schema: type[Value]
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    text_tokens: int = 0
    in_lines: str = ""
    ends_with: str = ""
    measured: bool = False
    earlier: Earlier | None = None

    @property
    def is_text(self) -> bool:
        return self.schema is str

    @property
    def turns(self) -> tuple[tuple[TextPart | ImagePart, ...], ...]:
        """The user's messages; the last is the one to reply to."""
        return (self.user,) if self.earlier is None else (self.earlier.user, self.user)

    @property
    def photos(self) -> int:
        return sum(isinstance(part, ImagePart) for turn in self.turns for part in turn)


_SLOT = re.compile(r"(?<!<)<<([a-z_]+)>>(?!>)")  # three brackets delimit material


@dataclass(frozen=True, slots=True)
class Case:
    """A worked example: what the photo shows in words, the question, what came before, the reply's fields."""

    photo: str
    question: str
    reply: Mapping[str, Any]
    given: str = ""


@dataclass(frozen=True, slots=True)
class PromptText:
    """`text` has named slots `<<like_this>>`; `advice` and `cases` go into slots of their own."""

    text: str = ""
    advice: str = ""
    cases: tuple[Case, ...] = field(default=())

    @property
    def slots(self) -> frozenset[str]:
        """The names that `fill` needs."""
        return frozenset(_SLOT.findall(self.text))

    def fill(self, **values: str) -> str:
        """The text with every slot filled, in one pass: what a value contains is never a slot itself."""
        if values.keys() != self.slots:
            raise ValueError(f"the prompt has the slots {sorted(self.slots)}, given were {sorted(values)}")
        return _SLOT.sub(lambda slot: values[slot.group(1)], self.text)


@lru_cache(maxsize=64)
def prompt_text(name: str) -> PromptText:
    """The prompt in `<name>.toml` beside this file, or `three_step/sample_query` beside that pipeline."""
    pipeline, _, of_pipeline = name.partition("/")
    folder = (
        files("gateway.pipelines") / pipeline / "prompts" if of_pipeline else files("gateway.llm") / "prompts"
    )
    file = folder / f"{of_pipeline or name}.toml"
    content = tomllib.loads(file.read_text("utf-8"))
    cases = tuple(Case(**case) for case in content.get("cases", ()))
    return PromptText(content.get("text", "").strip(), content.get("advice", "").strip(), cases)


def short_name(name: str) -> str:
    """Return the name without its pipeline's, for metrics and a request's schema."""
    return name.rpartition("/")[2]


Shown = TypeVar("Shown")

_TEMPLATE_TOKENS = 96
"""Marks of roles, turns and the photo, and the two lines on dates that Llama 3.2's template adds."""


@dataclass(frozen=True, slots=True)
class Window:
    """The model's limits of one call, in tokens: `context` with the reply, of which a photo takes `photo`.

    Shares of it bound what comes before the evidence, whatever its script; evidence gets what is left.
    """

    context: int = 8_192
    photo: int = 1_600

    @property
    def question(self) -> int:
        """Return the most tokens of the question."""
        return self.context // 8

    @property
    def instructions(self) -> int:
        """Return the most tokens of the caller's instructions."""
        return self.context // 32

    def left(self, prompt: Prompt[Any]) -> int:
        """Return the tokens left by the prompt and its longest reply; less than 0 if it is too long."""
        reads = _TEMPLATE_TOKENS + prompt.photos * self.photo + prompt.text_tokens
        return self.context - reads - prompt.max_tokens

    def fit(
        self, prompt_with: Callable[[Shown], Prompt[Value]], shown_within: Callable[[int], Shown]
    ) -> tuple[Prompt[Value], Shown]:
        """Return the prompt with as much evidence as it has room for, and that evidence."""
        bare = prompt_with(shown_within(0))
        blocks = shown_within(self.left(bare))
        return prompt_with(blocks), blocks


@dataclass(frozen=True, slots=True)
class VlmOptions:
    """The limits that the gateway may set.

    `evidence_chars` in all, `history_chars`: what a prompt may hold (about four
    characters a token), where `window` has room for it, of which the conversation takes no more than
    `history_share`.
    """

    evidence_chars: int = 8_000
    history_turns: int = 4
    history_chars: int = 1_600
    history_share: float = 1 / 8
    window: Window = field(default_factory=Window)

    @property
    def history_tokens(self) -> int:
        """Return the most tokens of the conversation so far."""
        return int(self.window.context * self.history_share)
