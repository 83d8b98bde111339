"""The node as one ASGI app: the model and the services. `GET /node/counts`: the requests of each service."""

import json
from collections import deque

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from bench.node.model import ChatApi, RunningServer
from bench.node.pace import SERVICES, VLM, Pace
from bench.node.playback import ServerTraits
from bench.node.scene import SCRIPT
from bench.node.services import ROUTES, ServicesApp, reply

MODEL = "node-vlm"
_CHAT = "/v1/chat/completions"
_OF_MODEL = (_CHAT, "/v1/models", "/health")


class NodeApp:
    """All services and the model behind one address."""

    def __init__(self, pace: Pace) -> None:
        server = RunningServer("", ServerTraits(model=MODEL), requests=deque(maxlen=16))
        self._model = FastAPI(title="node")
        ChatApi(server, SCRIPT, pace).add_to(self._model)
        self._services = ServicesApp(pace)
        self._received = dict.fromkeys((*SERVICES, VLM), 0)
        self._busy = dict.fromkeys((*SERVICES, VLM), 0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        path = scope["path"]
        app = self._model if path in _OF_MODEL else self._services
        if path == "/node/counts":
            await reply(send, 200, json.dumps(self.counts()).encode())
        elif path == _CHAT or path in ROUTES:
            service = VLM if path == _CHAT else ROUTES[path][0]
            self._received[service] += 1
            self._busy[service] += 1
            try:
                await app(scope, receive, send)
            finally:
                self._busy[service] -= 1
        else:
            await app(scope, receive, send)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many requests each service received, and how many of them it is busy with."""
        return {
            name: {"received": received, "busy": self._busy[name]}
            for name, received in self._received.items()
        }


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
