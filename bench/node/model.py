"""The chat API of a scripted model: reads requests strictly, refuses what its traits lack, sends replies."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, MutableSequence, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastapi import FastAPI, Request
from pydantic import ValidationError
from starlette.responses import JSONResponse, Response

from bench.node.pace import Engine, Pace
from bench.node.playback import Failure, Playback, ServerTraits, TokenStyle
from bench.node.replies import Fails, Reply, says, vllm_error
from bench.node.requests import ChatRequest, ObjectFormat, SchemaFormat, ScriptedRequest, violations
from chassis.http.serving import BoundApp, listen, running
from gateway.llm.probe import TASK

LLAMA_ON_VLLM_0_10_2 = ServerTraits(
    heeds_schema=False, system_beside_photo=False, photos=1, context=8192, token_style=TokenStyle.VLLM
)
"""With the first chat template of its weights, as seen on the real server."""
PROBED = {"kind": "by-the-schema"}
"""The reply to the gateway's probe where the schema is held."""


ReplyFor = Callable[[ScriptedRequest], Reply]
Script = ReplyFor | Mapping[str, Reply | Sequence[Reply] | ReplyFor]


@dataclass(slots=True)
class RunningServer:
    """The running server: `requests` in order of arrival, refused ones too, and `violations` of the API."""

    url: str
    traits: ServerTraits
    requests: MutableSequence[ScriptedRequest] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)

    @property
    def model(self) -> str:
        return self.traits.model

    @property
    def key(self) -> str:
        return self.traits.key

    @property
    def questions(self) -> list[ScriptedRequest]:
        """Return the requests without those of the gateway's probe at its start."""
        return [request for request in self.requests if TASK not in request.text]

    @property
    def answered(self) -> list[ScriptedRequest]:
        """Return the requests that were not refused for a missing ability."""
        return [request for request in self.requests if not request.refused]


@asynccontextmanager
async def vlm_server(script: Script, traits: ServerTraits | None = None) -> AsyncIterator[RunningServer]:
    """Run a server that replies by `script`. Raises AssertionError if a request broke the API's rules."""
    app = FastAPI(title="scripted VLM server")
    bound = BoundApp(app, listen("127.0.0.1", 0))
    server = RunningServer(bound.url, traits or ServerTraits())
    ChatApi(server, script).add_to(app)
    async with running([bound]):
        yield server
    assert not server.violations, server.violations


class ChatApi:
    """The routes of OpenAI's API that the gateway uses."""

    def __init__(self, server: RunningServer, script: Script, pace: Pace | None = None) -> None:
        self._engine = Engine(pace or Pace())
        self._server = server
        self._traits = server.traits
        self._script = script
        self._played: dict[str, int] = {}

    def add_to(self, app: FastAPI) -> None:
        app.add_api_route("/v1/models", self.models, methods=["GET"], response_model=None)
        app.add_api_route("/v1/chat/completions", self.chat, methods=["POST"], response_model=None)
        app.add_api_route("/health", self.health, methods=["GET"], response_model=None)

    async def health(self) -> Response:
        """`GET /health`."""
        return Response()

    async def models(self, request: Request) -> Response:
        """`GET /v1/models`."""
        if not self._admits(request):
            return _unauthorized()
        model = {
            "id": self._traits.model,
            "object": "model",
            "created": 1_700_000_000,
            "owned_by": "vllm",
            "max_model_len": self._traits.context,
        }
        return JSONResponse({"object": "list", "data": [model]})

    async def chat(self, request: Request) -> Response:
        """`POST /v1/chat/completions`."""
        if not self._admits(request):
            return _unauthorized()
        content = await request.body()
        try:
            chat = ChatRequest.model_validate_json(content)
        except ValidationError as error:
            return self._violated(
                f"{error.error_count()} validation error: {error.errors(include_url=False)}"
            )
        faults = violations(chat)
        if faults:
            return self._violated("; ".join(faults))
        if chat.model != self._traits.model:
            message = f"The model `{chat.model}` does not exist."
            return Failure(Fails(404, vllm_error(404, message, "NotFoundError", "model")))
        call = ScriptedRequest(json.loads(content), chat)
        self._server.requests.append(call)
        return self._respond(call)

    def _respond(self, call: ScriptedRequest) -> Response:
        refusal = self._refusal(call)
        if refusal is not None:
            call.refused = True
            call.end(abandoned=False)
            return Failure(refusal)
        reply = self._reply(call)
        if isinstance(reply, Fails):
            call.end(abandoned=False)
            return Failure(reply)
        return Playback(reply, call, self._traits, self._engine)

    def _refusal(self, call: ScriptedRequest) -> Fails | None:
        chat, traits, photos = call.chat, self._traits, call.photos
        form = chat.response_format
        if photos and not traits.system_beside_photo and chat.messages[0].role == "system":
            message = "Prompting with images is incompatible with system messages."
            return Fails(400, vllm_error(400, f"{message} {message}"))
        if traits.photos is not None and photos > traits.photos:
            message = f"At most {traits.photos} image(s) may be provided in one prompt. None"
            return Fails(400, vllm_error(400, message))
        if isinstance(form, SchemaFormat) and not traits.json_schema:
            return self._refuses("response_format", "This response_format type is unavailable now")
        if isinstance(form, ObjectFormat) and not traits.json_object:
            return self._refuses("response_format", "Unsupported response_format: json_object")
        if chat.logprobs and not traits.logprobs:
            return self._refuses("logprobs", "logprobs are not supported by this model")
        if chat.stream_options is not None and not traits.usage:
            return self._refuses("stream_options", "Extra inputs are not permitted: stream_options")
        if chat.seed is not None and not traits.seed:
            return self._refuses("seed", "Unsupported parameter: seed")
        return None

    def _refuses(self, param: str, message: str) -> Fails:
        body = {"detail": "Bad Request"} if self._traits.terse else vllm_error(400, message, param=param)
        return Fails(400, body, in_stream=self._traits.refuses_in_stream)

    def _reply(self, call: ScriptedRequest) -> Reply:
        if callable(self._script):
            return self._script(call)
        planned = self._script.get(call.name)
        if planned is None and "one word" in call.text:
            is_held = isinstance(call.chat.response_format, SchemaFormat) and self._traits.heeds_schema
            return says(PROBED if is_held else "ready", probability=0.99 if is_held else 0.8)
        if planned is None:
            self._server.violations.append(f"nothing is scripted for the prompt {call.name!r}")
            return Fails(500, vllm_error(500, "Nothing is scripted for this prompt.", "InternalServerError"))
        if callable(planned):
            return planned(call)
        if isinstance(planned, Sequence):
            turn = self._played.get(call.name, 0)
            self._played[call.name] = turn + 1
            return planned[min(turn, len(planned) - 1)]
        return planned

    def _violated(self, reason: str) -> Response:
        self._server.violations.append(reason)
        return Failure(Fails(400, vllm_error(400, reason)))

    def _admits(self, request: Request) -> bool:
        return not self._traits.key or request.headers.get("authorization") == f"Bearer {self._traits.key}"


def _unauthorized() -> Response:
    return JSONResponse({"error": "Unauthorized"}, status_code=401)
