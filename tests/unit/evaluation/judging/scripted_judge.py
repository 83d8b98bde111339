"""A scripted chat completions server for judges."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from chassis.http.serving import BoundApp, listen, running

Body = dict[str, Any]
Script = Callable[[Body, int], Response]

AT_ONCE = {"retry-after-ms": "1"}
"""Spares a test the pause before the next try; the client heeds it."""


class ScriptedJudge:
    """Keeps every request; `script` gets the body and how many came before."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.requests: list[Body] = []
        self.keys: list[str | None] = []

    def reply(self, body: Body, key: str | None) -> Response:
        self.requests.append(body)
        self.keys.append(key)
        return self._script(body, len(self.requests) - 1)


@asynccontextmanager
async def serving(judge: ScriptedJudge) -> AsyncIterator[str]:
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def complete(request: Request) -> Response:
        return judge.reply(await request.json(), request.headers.get("authorization"))

    bound = BoundApp(app, listen("127.0.0.1", 0))
    async with running([bound]):
        yield f"{bound.url}/v1"


def says(content: str | None) -> Response:
    return JSONResponse({"choices": [{"message": {"role": "assistant", "content": content}}]})


def marks(right: bool, reason: str = "made up") -> Response:
    return says(json.dumps({"reason": reason, "accuracy": right}))


def refuses(status: int, complaint: str = "no") -> Response:
    return JSONResponse({"error": {"message": complaint, "type": "x"}}, status, headers=AT_ONCE)


def case_in(body: Body) -> dict[str, str]:
    """The question, truth and answer of a request, read back from its JSON line."""
    line = body["messages"][1]["content"].split("\n")[1]
    result = json.loads(line)
    assert isinstance(result, dict)
    return result
