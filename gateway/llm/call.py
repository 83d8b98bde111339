"""A call to the model's server: its request, its metrics and its span.

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
from pydantic import BaseModel, JsonValue

from chassis.http.client import server_attributes
from chassis.json_text import sendable
from chassis.telemetry.metrics import counter, exemplar, histogram, series_of
from chassis.telemetry.spans import span
from contracts.answer import ModelCall, ModelMessage, ModelMessagePart
from gateway.llm.capabilities import Abilities, Thinking
from gateway.llm.prompt import ImagePart, Prompt, TextPart
from gateway.llm.reply_forms import json_schema_of, line_instructions
from gateway.llm.wire import Usage
from gateway.reasoning.port import count_calls


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


Parts = tuple[TextPart | ImagePart, ...]


_TOP_LOGPROBS = 5
"""Alternatives that are reported for each token."""


def request_body(prompt: Prompt[Any], model: str, abilities: Abilities) -> dict[str, JsonValue]:
    """Return the JSON of `POST /v1/chat/completions`, with the features that the server supports."""
    body: dict[str, JsonValue] = {
        "model": model,
        # A message without photos is one string: every chat template takes that, not every one takes parts.
        "messages": [{"role": role, "content": _content(parts)} for role, parts in _chat(prompt, abilities)],
        "max_tokens": prompt.max_tokens + abilities.thinking_tokens,
        "temperature": prompt.temperature,
        "stream": True,
    }
    if abilities.thinking is Thinking.SWITCHED_OFF:
        body["chat_template_kwargs"] = {"enable_thinking": False}
    if abilities.seed:
        body["seed"] = prompt.seed
    if abilities.usage:
        body["stream_options"] = {"include_usage": True}
    if abilities.logprobs and (prompt.measured or not prompt.is_text):
        body["logprobs"] = True
        body["top_logprobs"] = _TOP_LOGPROBS
    if abilities.schema and not prompt.is_text:
        form: type[BaseModel] = prompt.schema
        schema = json_schema_of(form)
        is_strict = len(schema["required"]) == len(schema["properties"])  # OpenAI's strict dialect wants all
        named: dict[str, JsonValue] = {"name": prompt.name, "schema": schema, "strict": is_strict}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return body


def _content(parts: Parts) -> JsonValue:
    if any(isinstance(part, ImagePart) for part in parts):
        return [_part(part) for part in parts]
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def _chat(prompt: Prompt[Any], abilities: Abilities) -> list[tuple[str, Parts]]:
    """Return the messages by role, without photos if the model does not see them."""
    chat: list[tuple[str, Parts]] = [("user", _user_parts(prompt, abilities))]
    if prompt.earlier is not None:
        chat = [("user", prompt.earlier.user), ("assistant", (TextPart(prompt.earlier.reply),)), *chat]
    if not abilities.sees_photos:
        chat = [(role, tuple(part for part in parts if isinstance(part, TextPart))) for role, parts in chat]
    if abilities.system:
        return [("system", (TextPart(prompt.system),)), *chat]
    (role, parts), *others = chat  # the system text first, so that all prompts of a request still begin alike
    return [(role, (TextPart(prompt.system), *parts)), *others]


def to_model_call(prompt: Prompt[Any], abilities: Abilities, reply: str) -> ModelCall:
    """Return a call as an experiment shows it: photos by their place only."""
    return ModelCall(
        prompt=prompt.name,
        messages=[
            ModelMessage(role=role, content=_call_parts(parts)) for role, parts in _chat(prompt, abilities)
        ],
        reply=sendable(reply),
        form="text" if prompt.is_text else abilities.form,
        temperature=prompt.temperature,
    )


def _call_parts(parts: Parts) -> list[ModelMessagePart]:
    return [
        ModelMessagePart(type="image")
        if isinstance(part, ImagePart)
        else ModelMessagePart(type="text", text=sendable(part.text))
        for part in parts
    ]


def _user_parts(prompt: Prompt[Any], abilities: Abilities) -> Parts:
    """The user's parts; for a server that holds no schema with the reply's form in words, always last."""
    if prompt.is_text or abilities.schema:
        return prompt.user
    if prompt.in_lines:
        return (*prompt.user[:-1], TextPart(prompt.in_lines))
    return (*prompt.user, TextPart(line_instructions(prompt.name, prompt.schema)))


def _part(part: TextPart | ImagePart) -> dict[str, JsonValue]:
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": part.data_uri}}
    return {"type": "text", "text": part.text}
