"""A proxy in front of a model server that keeps every prompt with its reply and its cost."""

import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

_CHAT = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One chat request and its reply. `cached_tokens`: of the prompt, what the server had in its cache."""

    messages: list[Any]
    reply: str
    status: int
    seconds: float
    first_word_s: float
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0


@dataclass(slots=True)
class Recorder:
    """Pass requests on to `upstream`, the model server's base URL, and keep the chat `exchanges`."""

    upstream: str
    exchanges: list[Exchange] = field(default_factory=list)

    def take(self, questions: Iterable[str] = ()) -> tuple[Exchange, ...]:
        """Return the exchanges so far about one of the questions, and forget all: a probe is none of them."""
        exchanges, self.exchanges = self.exchanges, []
        texts = {id(each): json.dumps(each.messages, ensure_ascii=False) for each in exchanges}
        return tuple(each for each in exchanges if any(one in texts[id(each)] for one in questions))

    def app(self) -> FastAPI:
        """Return the proxy as an app."""
        http = httpx.AsyncClient(timeout=None)

        @asynccontextmanager
        async def lifespan(_: FastAPI) -> AsyncIterator[None]:
            async with http:
                yield

        app = FastAPI(title="recorder", lifespan=lifespan)

        @app.api_route("/{path:path}", methods=["GET", "POST"])
        async def pass_on(request: Request) -> StreamingResponse:
            return await self._pass_on(http, request)

        return app

    async def _pass_on(self, http: httpx.AsyncClient, request: Request) -> StreamingResponse:
        path, body, began = request.url.path, await request.body(), time.monotonic()
        url = f"{self.upstream.removesuffix('/v1')}{path}"
        sent = http.build_request(request.method, url, content=body, headers=_headers(request))
        response = await http.send(sent, stream=True)

        async def pieces() -> AsyncIterator[bytes]:
            received, first_s = bytearray(), 0.0
            try:
                async for piece in response.aiter_raw():
                    first_s = first_s or time.monotonic() - began
                    received += piece
                    yield piece
            finally:
                await response.aclose()
                if path == _CHAT:
                    seconds = time.monotonic() - began
                    self.exchanges.append(
                        _exchange(body, bytes(received), response.status_code, seconds, first_s)
                    )

        kind = response.headers.get("content-type", "application/json")
        return StreamingResponse(pieces(), response.status_code, media_type=kind)


def _headers(request: Request) -> dict[str, str]:
    return {name: value for name in ("content-type", "authorization") if (value := request.headers.get(name))}


def _exchange(request: bytes, replied: bytes, status: int, seconds: float, first_word_s: float) -> Exchange:
    text, usage = "", dict[str, Any]()
    for line in replied.decode("utf-8", "replace").splitlines():
        data = line.removeprefix("data: ")
        if not data.startswith("{"):
            continue
        body: Mapping[str, Any] = json.loads(data)
        usage = body.get("usage") or usage
        for choice in body.get("choices") or ():
            text += (choice.get("delta") or choice.get("message") or {}).get("content") or ""
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return Exchange(
        messages=json.loads(request)["messages"],
        reply=text,
        status=status,
        seconds=seconds,
        first_word_s=first_word_s,
        prompt_tokens=usage.get("prompt_tokens") or 0,
        cached_tokens=cached,
        completion_tokens=usage.get("completion_tokens") or 0,
    )
