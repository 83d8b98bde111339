"""A call to the model's server: its endpoint, its progress, its metrics and its span.

The span uses OpenTelemetry's conventions for generative models. It has the prompt's name and its cost, never
what it or the reply says.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.trace import Span, SpanKind
from prometheus_client import CollectorRegistry

from chassis.http.client import server_attributes
from chassis.telemetry.metrics import counter, exemplar, histogram, series_of
from chassis.telemetry.spans import span
from gateway.llm.capabilities import Abilities
from gateway.llm.completion import Completion
from gateway.llm.wire import Usage
from gateway.reasoning.calls import count_calls


@dataclass(frozen=True, slots=True)
class VlmEndpoint:
    """The server of a model. `base_url` with or without `/v1`; `model` as `GET /v1/models` names it.

    An empty `model` means the first that is listed there. `context`: the tokens that prompts are fitted to, 0
    where nobody fits them.
    """

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    context: int = 0

    def __post_init__(self) -> None:
        """Raises `ValueError` for what could never be sent."""
        if not self.base_url.startswith(("http://", "https://")):
            raise ValueError("The address of the vision-language model must begin with http:// or https://.")
        if not (self.api_key.isascii() and self.api_key.isprintable()):
            raise ValueError("The key of the vision-language model may hold printable ASCII characters only.")

    def url(self, path: str) -> str:
        """Return the address of a route below `/v1`."""
        return f"{self._root}/v1{path}"

    def native_url(self, path: str) -> str:
        """Return the address of a route of the server's own API, beside `/v1`."""
        return f"{self._root}{path}"

    @property
    def _root(self) -> str:
        return self.base_url.rstrip("/").removesuffix("/v1")


@dataclass(slots=True)
class VlmCall:
    """One call, while it runs and as metrics see it. `outcome`: "ok", an error kind, or "cancelled".

    Times in seconds; they begin when the server may be asked, after any wait before that. `requests`: 0 if it
    never was, else 1, and one more for each time the server refused a part of the request or the call was
    repeated. `form`: None for text, which asks for none.
    """

    prompt: str
    started: float = field(default_factory=time.monotonic)
    outcome: str = "cancelled"
    seconds: float = 0.0
    first_token_s: float | None = None
    requests: int = 0
    form: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One call that only tries the server. `taken`: the abilities that it was asked with in the end.

    `thinks`: the model wrote thoughts. `seconds`: until the first token, thoughts included (of all for a
    reply without any), and until the end.
    """

    taken: Abilities
    reply: Completion[str]
    thinks: bool
    first_token_s: float
    seconds: float


CallObserver = Callable[[VlmCall], None]


def chat_span(url: str, body: Mapping[str, Any], prompt: str) -> AbstractContextManager[Span]:
    """The span of one `POST /v1/chat/completions` with `body`; `prompt`: the name of what is asked."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",  # as for every server that speaks its API
        "gen_ai.request.model": body["model"],
        "gen_ai.request.max_tokens": body["max_tokens"],
        "gen_ai.prompt.name": prompt,
        **server_attributes(url),
    }
    return span(f"chat {body['model']}", attributes, SpanKind.CLIENT)


def tell_cost(call: Span, usage: Usage | None, first_token_s: float | None) -> None:
    """Add the cost of the reply, as far as the server reports it."""
    if usage is not None:
        call.set_attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
        call.set_attribute("gen_ai.usage.output_tokens", usage.completion_tokens)
        if usage.cached_tokens is not None:
            call.set_attribute("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens)
    if first_token_s is not None:
        call.set_attribute("loreglass.first_token_s", round(first_token_s, 4))


_SECONDS = (0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 4, 5, 7.5, 10)
_BY_PROMPT = ("model", "prompt")
_METRICS = (
    counter("loreglass_vlm_calls_total", "Calls to the model.", (*_BY_PROMPT, "outcome")),
    histogram("loreglass_vlm_call_seconds", "Whole calls.", _BY_PROMPT, buckets=_SECONDS),
    histogram(
        "loreglass_vlm_first_token_seconds",
        "Time from the request to the first token.",
        _BY_PROMPT,
        buckets=_SECONDS,
    ),
    counter(
        "loreglass_vlm_tokens_total",
        "Tokens as the server counts them: prompt, cached (of the prompt) and completion.",
        (*_BY_PROMPT, "kind"),
    ),
    counter(
        "loreglass_vlm_forms_total",
        "Calls with structured output, by how the schema was enforced.",
        ("model", "form"),
    ),
    counter(
        "loreglass_vlm_repeated_requests_total",
        "Retried requests of a call: the server refused a part, or the connection was stale.",
        ("model",),
    ),
)


class VlmMetrics:
    """Counts and times; `observe`, with a model's name, is its client's observer."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._series = series_of(registry, _METRICS)

    def observe(self, model: str, call: VlmCall) -> None:
        """Count one call that is over, for the model and for the question that it belongs to."""
        usage, series = call.usage or Usage(prompt_tokens=0), self._series
        count_calls(call.requests, usage.prompt_tokens, usage.completion_tokens)
        series("loreglass_vlm_calls_total", model, call.prompt, call.outcome).inc()
        series("loreglass_vlm_call_seconds", model, call.prompt).observe(call.seconds, exemplar())
        if call.first_token_s is not None:
            first_token = series("loreglass_vlm_first_token_seconds", model, call.prompt)
            first_token.observe(call.first_token_s, exemplar())
        if call.form is not None:
            series("loreglass_vlm_forms_total", model, call.form).inc()
        series("loreglass_vlm_repeated_requests_total", model).inc(max(0, call.requests - 1))
        if call.usage is not None:
            counts = (usage.prompt_tokens, usage.cached_tokens or 0, usage.completion_tokens)
            for kind, count in zip(("prompt", "cached", "completion"), counts, strict=True):
                series("loreglass_vlm_tokens_total", model, call.prompt, kind).inc(count)
