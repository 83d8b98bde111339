"""A proxy that records every prompt sent to a model server, with its token counts."""

import json
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
    """One chat request. `cached_tokens` counts the prompt tokens that the server read from its cache."""

    messages: list[Any]
    prompt_tokens: int = 0
    cached_tokens: int = 0


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
        path, body = request.url.path, await request.body()
        url = f"{self.upstream.removesuffix('/v1')}{path}"
        sent = http.build_request(request.method, url, content=body, headers=_headers(request))
        response = await http.send(sent, stream=True)

        async def pieces() -> AsyncIterator[bytes]:
            received = bytearray()
            try:
                async for piece in response.aiter_raw():
                    received += piece
                    yield piece
            finally:
                await response.aclose()
                if path == _CHAT:
                    self.exchanges.append(_exchange(body, bytes(received)))

        kind = response.headers.get("content-type", "application/json")
        return StreamingResponse(pieces(), response.status_code, media_type=kind)


def _headers(request: Request) -> dict[str, str]:
    return {name: value for name in ("content-type", "authorization") if (value := request.headers.get(name))}


def _exchange(request: bytes, replied: bytes) -> Exchange:
    usage: Mapping[str, Any] = {}
    for line in replied.decode("utf-8", "replace").splitlines():
        data = line.removeprefix("data: ")
        if data.startswith("{"):
            usage = json.loads(data).get("usage") or usage
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return Exchange(json.loads(request)["messages"], usage.get("prompt_tokens") or 0, cached)
