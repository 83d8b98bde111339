"""A request to the model as a span, in the words of OpenTelemetry's conventions for generative models.

The prompt's name and its cost, never what it or the reply says.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from opentelemetry.trace import Span, SpanKind

from chassis.http.client import server_attributes
from chassis.telemetry.spans import span
from gateway.llm.completion import Usage

_PROVIDER = "openai"
"""As for every server that speaks its API."""


def chat_span(url: str, body: Mapping[str, Any], prompt: str) -> AbstractContextManager[Span]:
    """The span of one `POST /v1/chat/completions` with `body`; `prompt`: the name of what is asked."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDER,
        "gen_ai.request.model": body["model"],
        "gen_ai.request.max_tokens": body["max_tokens"],
        "gen_ai.prompt.name": prompt,
        **server_attributes(url),
    }
    return span(f"chat {body['model']}", attributes, SpanKind.CLIENT)


def tell_cost(call: Span, usage: Usage | None, first_token_s: float | None) -> None:
    """What the reply took, as far as the server told."""
    if usage is not None:
        call.set_attribute("gen_ai.usage.input_tokens", usage.prompt_tokens)
        call.set_attribute("gen_ai.usage.output_tokens", usage.completion_tokens)
        if usage.cached_tokens is not None:
            call.set_attribute("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens)
    if first_token_s is not None:
        call.set_attribute("loreglass.first_token_s", round(first_token_s, 4))
