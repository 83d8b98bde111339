"""Sends a scripted reply over HTTP, streamed or whole, in the shapes that real servers use."""

import json
import math
from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import anyio
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from bench.node.pace import Engine
from bench.node.replies import Fails, Says, Spelled
from bench.node.requests import ScriptedRequest

_NEVER = -9999.0  # what vLLM writes for a probability of zero
_PROMPT_TOKENS = 321


class TokenStyle(StrEnum):
    """The form in which a token that is part of a character is reported."""

    OPENAI = "openai"
    """Its own bytes."""
    VLLM = "vllm"
    """Empty until the token that ends the character, which has all of it (vLLM 0.32)."""
    VLLM_OLD = "vllm_old"
    """The replacement character and its bytes (vLLM 0.10)."""


@dataclass(frozen=True, slots=True)
class ServerTraits:
    """Features of the server. It refuses a missing feature with 400, unless a trait says that it ignores it.

    `streams` False: ignore `stream`. `refuses_in_stream`: refuse after a 200, as vLLM sometimes does.
    `terse`: do not name the refused part. `heeds_schema` False: accept `response_format` and ignore it.
    `system_beside_photo` False: as templates of Llama 3.2 before December 2024. `photos`: the most in one
    request. `context`: in tokens, reported by the list of models.
    """

    json_schema: bool = True
    json_object: bool = True
    logprobs: bool = True
    ignores_logprobs: bool = False
    usage: bool = True
    seed: bool = True
    streams: bool = True
    refuses_in_stream: bool = False
    terse: bool = False
    ends_with_special: bool = False
    token_style: TokenStyle = TokenStyle.OPENAI
    key: str = ""
    model: str = "scripted-vlm"
    heeds_schema: bool = True
    system_beside_photo: bool = True
    photos: int | None = None
    context: int | None = None


@dataclass(frozen=True, slots=True)
class _Step:
    content: str
    logprobs: dict[str, Any] | None


class Playback(Response):
    """A response to `request` that stops when the client closes the connection."""

    def __init__(self, reply: Says, request: ScriptedRequest, traits: ServerTraits, engine: Engine) -> None:
        super().__init__()
        chat = request.chat
        self._reply, self._request, self._traits, self._engine = reply, request, traits, engine
        self._streams = chat.stream and traits.streams
        self._sends_usage = chat.stream_options is not None and chat.stream_options.include_usage
        sends_logprobs = chat.logprobs and not traits.ignores_logprobs
        self._logprobs = (chat.top_logprobs or 0) if sends_logprobs else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the reply while watching for the end of the connection."""
        finished = False
        async with anyio.create_task_group() as group:

            async def listen() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            group.start_soon(listen)
            async with self._engine.prompt(self._request.text, self._request.photos):
                finished = await self._play(send)
            group.cancel_scope.cancel()
        self._request.end(abandoned=not finished)

    async def _play(self, send: Send) -> bool:
        if not self._streams:
            return await self._play_whole(send)
        await send(_start(200, "text/event-stream; charset=utf-8"))
        await send(_body(_event(self._chunk({"role": "assistant", "content": ""}))))
        steps, interval = (
            list(_steps(self._reply.tokens, self._logprobs, self._traits)),
            self._engine.pace.tokens_per_event,
        )
        for index in range(0, len(steps), interval):
            await self._hold(index)
            if index == self._reply.drop_after:
                return True  # the server breaks off; the client has not left
            step, tokens = _join(steps[index : index + interval])
            await self._engine.write(tokens)
            await send(_body(_event(self._chunk({"content": step.content}, step.logprobs))))
        await self._hold(len(steps))
        await send(_body(_event(self._chunk(self._last_delta(), None, self._reply.finish_reason))))
        if self._sends_usage:
            await send(_body(_event(self._envelope() | {"choices": [], "usage": self._usage()})))
        await send(_body(b"data: [DONE]\n\n", more=False))
        return True

    async def _play_whole(self, send: Send) -> bool:
        await self._hold(0)
        steps = list(_steps(self._reply.tokens, self._logprobs, self._traits))
        await self._engine.write(len(steps))
        listed = [entry for step in steps if step.logprobs for entry in step.logprobs["content"]]
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": self._reply.text, "refusal": self._reply.refusal},
            "logprobs": {"content": listed} if self._logprobs is not None else None,
            "finish_reason": self._reply.finish_reason,
        }
        body = self._envelope() | {
            "object": "chat.completion",
            "choices": [choice],
            "usage": self._usage(),
        }
        await send(_start(200, "application/json"))
        await send(_body(json.dumps(body).encode(), more=False))
        return True

    async def _hold(self, index: int) -> None:
        if self._reply.hold is not None and index == self._reply.hold_at:
            await self._reply.hold.wait()

    def _last_delta(self) -> dict[str, Any]:
        return {"refusal": self._reply.refusal} if self._reply.refusal else {}

    def _chunk(
        self, delta: dict[str, Any], logprobs: dict[str, Any] | None = None, reason: str | None = None
    ) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": reason}
        return self._envelope() | {"choices": [choice]}

    def _envelope(self) -> dict[str, Any]:
        return {
            "id": "chatcmpl-scripted",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": self._request.chat.model,
        }

    def _usage(self) -> dict[str, Any]:
        count = len(self._reply.tokens)
        return {
            "prompt_tokens": _PROMPT_TOKENS,
            "completion_tokens": count,
            "total_tokens": _PROMPT_TOKENS + count,
            "prompt_tokens_details": {"cached_tokens": _PROMPT_TOKENS // 2},
        }


class Failure(Response):
    def __init__(self, failure: Fails) -> None:
        content = failure.body if isinstance(failure.body, str) else json.dumps(failure.body)
        if failure.in_stream:
            content = f"data: {content}\n\ndata: [DONE]\n\n"
            super().__init__(content, 200, media_type="text/event-stream")
        else:
            media_type = "text/html" if isinstance(failure.body, str) else "application/json"
            super().__init__(content, failure.status, dict(failure.headers), media_type)


def _join(steps: list[_Step]) -> tuple[_Step, int]:
    """Return several tokens as one, and their number."""
    entries = [entry for step in steps if step.logprobs for entry in step.logprobs["content"]]
    logprobs = {"content": entries} if steps[0].logprobs else None
    return _Step("".join(step.content for step in steps), logprobs), len(steps)


def _steps(tokens: tuple[Spelled, ...], top: int | None, traits: ServerTraits) -> Iterator[_Step]:
    """Yield tokens as they are sent: text appears once its characters are whole."""
    decoder = getincrementaldecoder("utf-8")()
    pending = b""
    for token in tokens:
        content = decoder.decode(token.data)
        pending = b"" if content else pending + token.data
        spelling = _as_sent(token, content, traits.token_style)
        yield _Step(content, _logprobs(token, spelling, top))
    if traits.ends_with_special:
        end = Spelled(b"<|im_end|>", 0.99)
        yield _Step("", _logprobs(end, (end.data.decode(), end.data), top))


def _as_sent(token: Spelled, content: str, style: TokenStyle) -> tuple[str, bytes]:
    decodes = token.data.decode("utf-8", "ignore").encode() == token.data
    if style is TokenStyle.OPENAI or decodes:
        return token.data.decode("utf-8", "replace"), token.data
    if style is TokenStyle.VLLM:
        return content, content.encode()
    replaced = token.data.decode("utf-8", "replace")
    return replaced, replaced.encode()


def _logprobs(token: Spelled, spelling: tuple[str, bytes], top: int | None) -> dict[str, Any] | None:
    if top is None:
        return None
    text, data = spelling
    itself = _entry(text, data, token.probability)
    rivals = [
        _entry(rival, rival.encode(), probability)
        for rival, probability in sorted(token.rivals.items(), key=lambda item: -item[1])
        if rival != text
    ] or [_entry(" the", b" the", (1 - token.probability) / 2)]
    return {"content": [itself | {"top_logprobs": [itself, *rivals][:top]}]}


def _entry(text: str, data: bytes, probability: float) -> dict[str, Any]:
    logprob = math.log(probability) if probability > 0 else _NEVER
    return {"token": text, "logprob": logprob, "bytes": list(data)}


def _event(body: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(body)}\n\n".encode()


def _start(status: int, content_type: str) -> Message:
    headers = [(b"content-type", content_type.encode())]
    return {"type": "http.response.start", "status": status, "headers": headers}


def _body(content: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": content, "more_body": more}
