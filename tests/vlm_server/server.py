"""The scripted server itself: reads requests strictly, refuses what its traits cannot do, plays replies."""

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from fastapi import FastAPI, Request
from pydantic import ValidationError
from starlette.responses import JSONResponse, Response

from capacity.standins.prompts import prompt_name
from chassis.http.serving import BoundApp, listen, running
from gateway.llm.probe import TASK
from tests.vlm_server.chat_requests import (
    ChatRequest,
    ImagePart,
    ObjectFormat,
    Part,
    SchemaFormat,
    SystemMessage,
    TextPart,
    UserMessage,
    decoded,
    faults,
)
from tests.vlm_server.playback import Failure, Playback, TokenStyle, Told
from tests.vlm_server.replies import Fails, Reply, says, vllm_error

_NAME_IN_WORDS = re.compile(r'the form "([A-Za-z0-9_-]+)"')


@dataclass(frozen=True, slots=True)
class ServerTraits:
    """What the server can do. What it lacks it refuses with 400, unless it is said to ignore it.

    `streams` False: `stream` is ignored; `refuses_in_stream`: with a
    200 first, as vLLM does for some; `terse`: without naming the part that it refuses. `heeds_schema` False:
    what asks for a form is taken and dropped; `system_beside_photo` False: as templates of Llama 3.2 before
    December 2024; `photos`: the most in one request; `context`: in tokens, told by the list of models.
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


LLAMA_ON_VLLM_0_10_2 = ServerTraits(
    heeds_schema=False, system_beside_photo=False, photos=1, context=8192, token_style=TokenStyle.VLLM
)
"""With the chat template that its weights had at first; tests/vllm holds it against the real server."""
PROBED = {"kind": "by-the-schema"}
"""What a held schema makes of the probe's one word."""


@dataclass(eq=False, slots=True)
class ScriptedRequest:
    """One chat request, as it came; see the package's docstring."""

    body: dict[str, Any]
    chat: ChatRequest
    refused: bool = False
    abandoned: bool = False
    finished: anyio.Event = field(default_factory=anyio.Event)

    @property
    def name(self) -> str:
        """The prompt's name, or "" when the request does not tell."""
        if isinstance(self.chat.response_format, SchemaFormat):
            return self.chat.response_format.json_schema.name
        named = _NAME_IN_WORDS.findall(self.text)  # the last: a chat may go on from another prompt
        return prompt_name(self.text) or (named[-1] if named else "")

    @property
    def system(self) -> str:
        """What the system says."""
        return "".join(m.content for m in self.chat.messages if isinstance(m, SystemMessage))

    @property
    def parts(self) -> list[Part]:
        """The user's parts."""
        return [part for m in self.chat.messages if isinstance(m, UserMessage) for part in m.parts]

    @property
    def text(self) -> str:
        """The user's text parts, a line break between them."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def images(self) -> list[bytes]:
        """The photos."""
        return [decoded(part.image_url.url) for part in self.parts if isinstance(part, ImagePart)]

    def end(self, *, abandoned: bool) -> None:
        """Nothing more will be sent."""
        self.abandoned = abandoned
        self.finished.set()


ReplyFor = Callable[[ScriptedRequest], Reply]
Script = ReplyFor | Mapping[str, Reply | Sequence[Reply] | ReplyFor]


@dataclass(slots=True)
class RunningServer:
    """The server, up. `requests` in order of arrival, refused ones too."""

    url: str
    traits: ServerTraits
    requests: list[ScriptedRequest] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)

    @property
    def model(self) -> str:
        """The name it serves its model by."""
        return self.traits.model

    @property
    def key(self) -> str:
        """The key it wants."""
        return self.traits.key

    @property
    def questions(self) -> list[ScriptedRequest]:
        """The requests but those of a gateway's probe, which it makes when it starts."""
        return [request for request in self.requests if TASK not in request.text]

    @property
    def answered(self) -> list[ScriptedRequest]:
        """The requests that were not refused for a missing ability."""
        return [request for request in self.requests if not request.refused]


@asynccontextmanager
async def vlm_server(script: Script, traits: ServerTraits | None = None) -> AsyncIterator[RunningServer]:
    """A server that plays `script`. Raises AssertionError at its end if a request broke the API's rules."""
    app = FastAPI(title="scripted VLM server")
    bound = BoundApp(app, listen("127.0.0.1", 0))
    server = RunningServer(bound.url, traits or ServerTraits())
    _Routes(server, script).add_to(app)
    async with running([bound]):
        yield server
    assert not server.violations, server.violations


class _Routes:
    def __init__(self, server: RunningServer, script: Script) -> None:
        self._server = server
        self._traits = server.traits
        self._script = script
        self._played: dict[str, int] = {}

    def add_to(self, app: FastAPI) -> None:
        app.add_api_route("/v1/models", self.models, methods=["GET"], response_model=None)
        app.add_api_route("/v1/chat/completions", self.chat, methods=["POST"], response_model=None)
        app.add_api_route("/health", self.health, methods=["GET"], response_model=None)

    async def health(self) -> Response:
        return Response()

    async def models(self, request: Request) -> Response:
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
        if not self._admits(request):
            return _unauthorized()
        content = await request.body()
        try:
            chat = ChatRequest.model_validate_json(content)
        except ValidationError as error:
            return self._violated(
                f"{error.error_count()} validation error: {error.errors(include_url=False)}"
            )
        found = faults(chat)
        if found:
            return self._violated("; ".join(found))
        if chat.model != self._traits.model:
            message = f"The model `{chat.model}` does not exist."
            return Failure(Fails(404, vllm_error(404, message, "NotFoundError", "model")))
        seen = ScriptedRequest(json.loads(content), chat)
        self._server.requests.append(seen)
        return self._respond(seen)

    def _respond(self, seen: ScriptedRequest) -> Response:
        refusal = self._refusal(seen.chat)
        if refusal is not None:
            seen.refused = True
            seen.end(abandoned=False)
            return Failure(refusal)
        reply = self._reply(seen)
        if isinstance(reply, Fails):
            seen.end(abandoned=False)
            return Failure(reply)
        chat, traits = seen.chat, self._traits
        tells = chat.logprobs and not traits.ignores_logprobs
        told = Told(
            model=chat.model,
            streamed=chat.stream and traits.streams,
            logprobs=(chat.top_logprobs or 0) if tells else None,
            usage=chat.stream_options is not None and chat.stream_options.include_usage,
            style=traits.token_style,
            ends_with_special=traits.ends_with_special,
        )
        return Playback(reply, told, seen.end)

    def _refusal(self, chat: ChatRequest) -> Fails | None:
        traits = self._traits
        wanted = chat.response_format
        photos = [p for m in chat.messages if isinstance(m, UserMessage) for p in m.parts if p.type != "text"]
        if photos and not traits.system_beside_photo and chat.messages[0].role == "system":
            said = "Prompting with images is incompatible with system messages."
            return Fails(400, vllm_error(400, f"{said} {said}"))
        if traits.photos is not None and len(photos) > traits.photos:
            said = f"At most {traits.photos} image(s) may be provided in one prompt. None"
            return Fails(400, vllm_error(400, said))
        if isinstance(wanted, SchemaFormat) and not traits.json_schema:
            return self._refuses("response_format", "This response_format type is unavailable now")
        if isinstance(wanted, ObjectFormat) and not traits.json_object:
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

    def _reply(self, seen: ScriptedRequest) -> Reply:
        if callable(self._script):
            return self._script(seen)
        planned = self._script.get(seen.name)
        if planned is None and "one word" in seen.text:
            is_held = isinstance(seen.chat.response_format, SchemaFormat) and self._traits.heeds_schema
            return says(PROBED if is_held else "ready", probability=0.99 if is_held else 0.8)
        if planned is None:
            self._server.violations.append(f"nothing is scripted for the prompt {seen.name!r}")
            return Fails(500, vllm_error(500, "Nothing is scripted for this prompt.", "InternalServerError"))
        if callable(planned):
            return planned(seen)
        if isinstance(planned, Sequence):
            turn = self._played.get(seen.name, 0)
            self._played[seen.name] = turn + 1
            return planned[min(turn, len(planned) - 1)]
        return planned

    def _violated(self, reason: str) -> Response:
        self._server.violations.append(reason)
        return Failure(Fails(400, vllm_error(400, reason)))

    def _admits(self, request: Request) -> bool:
        return not self._traits.key or request.headers.get("authorization") == f"Bearer {self._traits.key}"


def _unauthorized() -> Response:
    return JSONResponse({"error": "Unauthorized"}, status_code=401)
