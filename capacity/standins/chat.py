"""The chat wire from the server's side: what a request asks for, and the events of its streamed reply."""

import hashlib
import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capacity.standins.decoding import ReadPrompt
from capacity.standins.exchange import StandInReply, json_reply
from capacity.standins.prompts import prompt_name

_CHARACTERS_A_TOKEN = 4
_LEAST, _MOST = 0.94, 0.99
"""Probabilities of the model's tokens."""
_RIVALS = (" the", " of", " and", " to", " as", " at", " on", " by", " it", " be")
_UNSEEN = -14.0  # log probability of the last rivals


class RefusedChat(Exception):
    """A chat request that this server does not take; `param` names the part, as vLLM does."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


@dataclass(frozen=True, slots=True)
class ChatCall:
    """What one request asks for. `by_schema`: JSON; else labelled lines, or text.

    `top_logprobs` None: without log probabilities.
    """

    name: str
    model: str
    task: str
    prompt: ReadPrompt
    max_tokens: int
    top_logprobs: int | None
    usage: bool
    by_schema: bool


def read_call(content: bytes, photo_tokens: int) -> ChatCall:
    """The request as this server understands it. Raises `RefusedChat`."""
    try:
        body = json.loads(content)
        if not body.get("stream"):
            raise RefusedChat("This server streams its replies only.", "stream")
        system, parts = _messages(body["messages"])
        texts = [str(part["text"]) for part in parts if part["type"] == "text"]
        photos = [str(part["image_url"]["url"]) for part in parts if part["type"] == "image_url"]
        task = "\n".join(texts)
        return ChatCall(
            name=_form_name(body, task),
            model=str(body["model"]),
            task=task,
            prompt=ReadPrompt(
                prefix=hashlib.sha256("\0".join([system, *photos]).encode()).hexdigest(),
                prefix_tokens=tokens_in(system),
                further_tokens=tokens_in(task),
                photo_tokens=photo_tokens * len(photos),
            ),
            max_tokens=_max_tokens(body),
            top_logprobs=int(body.get("top_logprobs") or 0) if body.get("logprobs") else None,
            usage=bool((body.get("stream_options") or {}).get("include_usage")),
            by_schema=bool(body.get("response_format")),
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise RefusedChat(f"The request cannot be read: {type(error).__name__}.") from error


def tokens_in(text: str) -> int:
    """About as many tokens as an English text has."""
    return math.ceil(len(text) / _CHARACTERS_A_TOKEN)


def refusal(error: RefusedChat) -> StandInReply:
    """400 in vLLM's shape."""
    return vllm_error(400, error.message, "BadRequestError", error.param)


def vllm_error(status: int, message: str, kind: str, param: str | None = None) -> StandInReply:
    """An error in vLLM's shape."""
    told = {"message": message, "type": kind, "param": param, "code": status}
    return json_reply({"error": told}, status)


def models(model: str) -> StandInReply:
    """`GET /v1/models`."""
    listed = {"id": model, "object": "model", "created": 0, "owned_by": "stand-in"}
    return json_reply({"object": "list", "data": [listed]})


class Transcript:
    """The events of one reply: `pieces` are its tokens, of which `max_tokens` are told."""

    def __init__(self, call: ChatCall, pieces: Sequence[str], number: int, rng: random.Random) -> None:
        self._call = call
        self._pieces = pieces[: call.max_tokens]
        self._cut_off = len(pieces) > call.max_tokens
        self._envelope = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": call.model,
        }
        self._rng = rng

    @property
    def tokens(self) -> int:
        """How many will be told."""
        return len(self._pieces)

    def opening(self) -> bytes:
        """The event that names the speaker."""
        return self._choice({"role": "assistant", "content": ""})

    def told(self, start: int, end: int) -> bytes:
        """One event that tells the tokens from `start` to `end`."""
        pieces = self._pieces[start:end]
        top = self._call.top_logprobs
        logprobs = None if top is None else {"content": [self._token(piece, top) for piece in pieces]}
        return self._choice({"content": "".join(pieces)}, logprobs)

    def ending(self, cached_tokens: int) -> bytes:
        """Why it ended, what it cost if that was asked for, and the end mark."""
        events = self._choice({}, None, "length" if self._cut_off else "stop")
        if self._call.usage:
            events += _event({**self._envelope, "choices": [], "usage": self._usage(cached_tokens)})
        return events + b"data: [DONE]\n\n"

    def _usage(self, cached_tokens: int) -> dict[str, Any]:
        read = self._call.prompt.tokens
        return {
            "prompt_tokens": read,
            "completion_tokens": self.tokens,
            "total_tokens": read + self.tokens,
            "prompt_tokens_details": {"cached_tokens": cached_tokens},
        }

    def _choice(
        self, delta: Mapping[str, Any], logprobs: Mapping[str, Any] | None = None, reason: str | None = None
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": reason}
        return _event({**self._envelope, "choices": [choice]})

    def _token(self, piece: str, top: int) -> dict[str, Any]:
        probability = self._rng.uniform(_LEAST, _MOST)
        itself = _entry(piece, math.log(probability))
        rest = math.log((1 - probability) / 2)
        rivals = [_entry(rival, max(rest - place, _UNSEEN)) for place, rival in enumerate(_RIVALS)]
        return {**itself, "top_logprobs": [itself, *rivals][:top]}


def _entry(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode())}


def _event(body: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def _messages(messages: Sequence[Mapping[str, Any]]) -> tuple[str, Sequence[Mapping[str, Any]]]:
    """The system's words and the user's parts."""
    system = next((str(message["content"]) for message in messages if message["role"] == "system"), "")
    said = [message["content"] for message in messages if message["role"] == "user"]
    if not said:
        raise RefusedChat("The request has no message of the user.", "messages")
    parts = [[{"type": "text", "text": each}] if isinstance(each, str) else each for each in said]
    return system, [part for each in parts for part in each]


def _max_tokens(body: Mapping[str, Any]) -> int:
    count = int(body["max_tokens"])
    if count < 1:
        raise RefusedChat(f"max_tokens must be at least 1, got {count}.", "max_tokens")
    return count


def _form_name(body: Mapping[str, Any], task: str) -> str:
    """What is to be written: the schema's name, or that of a text, which the task's own words tell."""
    wanted = body.get("response_format") or {}
    named = "" if wanted else prompt_name(task)
    if named:
        return named
    if wanted.get("type") != "json_schema":
        raise RefusedChat(
            "This server writes replies to a JSON schema, and texts of a name.", "response_format"
        )
    return str(wanted["json_schema"]["name"])
