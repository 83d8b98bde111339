"""A call to the model's server: where it goes, and what metrics see of it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from gateway.llm.capabilities import Abilities
from gateway.llm.completion import Completion, Usage, Written
from gateway.llm.schema_forms import SchemaForm


@dataclass(frozen=True, slots=True)
class VlmEndpoint:
    """Where the model is served. `base_url` with or without `/v1`; `model` as `GET /v1/models` names it.

    An empty `model` means the first that is listed there.
    `top_logprobs` (0 to 20): alternatives told for each token. `refresh_s`: after that, the server's
    abilities are asked for again. `context`: the tokens that prompts are fitted to, 0 where nobody fits them.
    """

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    seed: int = 0
    top_logprobs: int = 5
    refresh_s: float = 3_600.0
    context: int = 0

    def __post_init__(self) -> None:
        """Raises `ValueError` for what could never be sent."""
        if not self.base_url.startswith(("http://", "https://")):
            raise ValueError("The address of the vision-language model must begin with http:// or https://.")
        if not (self.api_key.isascii() and self.api_key.isprintable()):
            raise ValueError("The key of the vision-language model may hold printable ASCII characters only.")

    def url(self, path: str) -> str:
        """The address of a route below `/v1`."""
        return f"{self._root}/v1{path}"

    def native_url(self, path: str) -> str:
        """The address of a route of the server's own API, beside `/v1`."""
        return f"{self._root}{path}"

    @property
    def _root(self) -> str:
        return self.base_url.rstrip("/").removesuffix("/v1")


@dataclass(frozen=True, slots=True)
class VlmCall:
    """One call as metrics see it. `outcome`: "ok", an error kind, or "cancelled"; times in seconds.

    The times begin when the server may be asked, after any wait before that. `requests`: 0 if it never was,
    else 1, and one more for each time the server refused a part of the request or the call was repeated.
    `form`: None for text, which asks for none.
    """

    prompt: str
    outcome: str
    seconds: float
    first_token_s: float | None
    requests: int
    form: SchemaForm | None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One call that only tries the server. `taken`: the abilities that it was asked with in the end.

    `thinks`: the model wrote thoughts. `seconds`: until the first token, thoughts included (of all for a
    reply without any), and until the end.
    """

    taken: Abilities
    reply: Written
    thinks: bool
    first_token_s: float
    seconds: float


CallObserver = Callable[[VlmCall], None]


def no_op(call: VlmCall) -> None:
    """Observes nothing."""


@dataclass(slots=True)
class Progress:
    """What is known of a call while it runs."""

    prompt: str
    started: float
    form: SchemaForm | None = None
    first_token_s: float | None = None
    requests: int = 0

    def ended(self, outcome: str, completion: Completion[Any] | Written | None) -> VlmCall:
        call = VlmCall(
            self.prompt,
            outcome,
            time.monotonic() - self.started,
            self.first_token_s,
            self.requests,
            self.form,
        )
        return call if completion is None else replace(call, usage=completion.usage)
