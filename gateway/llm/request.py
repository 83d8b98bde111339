"""Requests of the OpenAI chat API."""

from typing import Any

from pydantic import BaseModel, JsonValue

from chassis.json_text import sendable
from contracts.answer import ModelCall, ModelMessage, ModelMessagePart
from gateway.llm.capabilities import Abilities, Thinking
from gateway.llm.prompt import ImagePart, Prompt, TextPart
from gateway.llm.reply_forms import json_schema_of, line_instructions

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
        body["response_format"] = _response_format(prompt)
    return body


def _response_format(prompt: Prompt[Any]) -> dict[str, JsonValue]:
    form: type[BaseModel] = prompt.schema
    schema = json_schema_of(form)
    is_strict = len(schema["required"]) == len(schema["properties"])  # OpenAI's strict dialect wants all
    named: dict[str, JsonValue] = {"name": prompt.name, "schema": schema, "strict": is_strict}
    return {"type": "json_schema", "json_schema": named}


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
