"""The node as one ASGI app: the model, the services, counts of their requests, and faults on demand.

`POST /node/fault` with `{"service": "ocr", "fault": "slow", "ms": 2000}` begins a fault and ends any other
of that service; `GET /node/counts` reports the requests of each service.
"""

import json
from collections import deque
from enum import StrEnum

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.types import Receive, Scope, Send

from bench.node.model import ChatApi, RunningServer, ServerTraits
from bench.node.pace import SERVICES, VLM, Pace, sleep_ms
from bench.node.scene import SCRIPT
from bench.node.services import ROUTES, ServicesApp, read_body, reply, until_closed

MODEL = "node-vlm"
_CHAT = "/v1/chat/completions"
_OF_MODEL = (_CHAT, "/v1/models", "/health")


class Fault(StrEnum):
    """A fault of all requests to a service."""

    NONE = "none"
    SLOW = "slow"
    """The reply comes `ms` milliseconds later."""
    HANG = "hang"
    """The request is read and never answered."""
    ERROR = "error"
    """500 at once."""
    GARBAGE = "garbage"
    """200 with a body that is not what the contract says."""
    CUT = "cut"
    """The connection closes in the middle of the reply."""


class FaultRequest(BaseModel):
    """The body of `POST /node/fault`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    service: str = Field(pattern=f"^({'|'.join((*SERVICES, VLM))})$")
    fault: Fault
    ms: float = Field(default=0.0, ge=0)


class NodeApp:
    """All services and the model behind one address."""

    def __init__(self, pace: Pace) -> None:
        server = RunningServer("", ServerTraits(model=MODEL), requests=deque(maxlen=16))
        self._model = FastAPI(title="node")
        ChatApi(server, SCRIPT, pace).add_to(self._model)
        self._services = ServicesApp(pace)
        self._faults: dict[str, FaultRequest] = {}
        self._received = dict.fromkeys((*SERVICES, VLM), 0)
        self._busy = dict.fromkeys((*SERVICES, VLM), 0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as its service's fault has it."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        path = scope["path"]
        if path == "/node/counts":
            await reply(send, 200, json.dumps(self.counts()).encode())
        elif path == "/node/fault":
            await self._set_fault(receive, send)
        elif path == _CHAT or path in ROUTES:
            await self._counted(VLM if path == _CHAT else ROUTES[path][0], scope, receive, send)
        else:
            await self._app(path)(scope, receive, send)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many requests each service received, and how many of them it is busy with."""
        return {
            name: {"received": received, "busy": self._busy[name]}
            for name, received in self._received.items()
        }

    def set_fault(self, request: FaultRequest) -> None:
        """Begin a fault; any other of that service ends."""
        self._faults[request.service] = request

    def _app(self, path: str) -> "FastAPI | ServicesApp":
        return self._model if path in _OF_MODEL else self._services

    async def _set_fault(self, receive: Receive, send: Send) -> None:
        try:
            self.set_fault(FaultRequest.model_validate_json(await read_body(receive)))
        except ValidationError as error:
            await reply(send, 422, error.json(include_url=False, include_input=False).encode())
        else:
            await reply(send, 200, b"{}")

    async def _counted(self, service: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._received[service] += 1
        self._busy[service] += 1
        try:
            request = self._faults.get(service)
            if request is None or request.fault in (Fault.NONE, Fault.SLOW):
                await sleep_ms(request.ms if request is not None and request.fault is Fault.SLOW else 0)
                await self._app(scope["path"])(scope, receive, send)
            else:
                await _fail(request.fault, receive, send)
        finally:
            self._busy[service] -= 1


async def _fail(fault: Fault, receive: Receive, send: Send) -> None:
    await read_body(receive)
    if fault is Fault.HANG:
        await until_closed(receive)
    elif fault is Fault.ERROR:
        await reply(send, 500, b'{"error": {"message": "A fault of the node."}}')
    elif fault is Fault.GARBAGE:
        await reply(send, 200, b"<html>no reply of this service")
    else:
        await reply(send, 200, b'{"choices": [', promised=4_096)  # the server closes what is not complete


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
