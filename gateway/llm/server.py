"""A model's server: the models that it lists, and its errors as our own.

Callers read an error's details: these name no server, key or model. Our log has the rest.
"""

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import quote, urljoin

import anyio
import structlog
from pydantic import AliasPath, Field, field_validator

from chassis.errors import DeadlineExceeded, DependencyUnavailable, LoreglassError, Overloaded
from chassis.http.client import Endpoint, ExchangeError, HttpClient, Response
from chassis.json_text import sendable
from chassis.resilience.deadlines import Deadline, seconds_of
from chassis.telemetry.spans import trace_headers
from contracts import headers
from gateway.llm.capabilities import is_about_images
from gateway.llm.wire import Count, ErrorWire, Wire, none_if_unreadable, read_error

_MAX_ADDRESS = 300
_NO_CHAT = re.compile("embed|rerank", re.IGNORECASE)
_NATIVE_WITHIN_S = 5.0
_NATIVE = (("POST", "/api/show"), ("GET", "/api/v0/models/{model}"))
"""Paths at which Ollama and LM Studio list a model's abilities: they may ignore photos without an error."""


class ServedModel(Wire):
    """One entry of `GET /v1/models`; vLLM tells the context as `max_model_len`, llama.cpp as `n_ctx`."""

    id: str
    max_model_len: Count | None = None
    n_ctx: Count | None = Field(None, validation_alias=AliasPath("meta", "n_ctx"))

    _forgiving = field_validator("max_model_len", "n_ctx", mode="wrap")(none_if_unreadable)

    @property
    def context(self) -> int:
        """In tokens; 0 where the server does not tell it."""
        return self.max_model_len or self.n_ctx or 0

    @property
    def chats(self) -> bool:
        """False for a model whose name says that it only embeds or ranks."""
        return _NO_CHAT.search(self.id) is None


class ServerAccount:
    """Asks a server for its models, and reads its errors. `model`: the name that is set, or that it lists."""

    def __init__(self, http: HttpClient, endpoint: Endpoint) -> None:
        self._http = http
        self._endpoint = endpoint
        self.model = endpoint.model

    def reset(self) -> None:
        """Forget the name if it was found: another model may come back."""
        self.model = self._endpoint.model

    async def name(self, deadline: Deadline) -> str:
        """Return the model's name; without one, the first that chats of those that the server lists."""
        if not self.model:
            chatting = [each for each in await self.models(deadline) if each.chats]
            if not chatting:
                raise failure(404, ErrorWire(), None, "")
            self.model = chatting[0].id
        return self.model

    async def details(self, deadline: Deadline) -> ServedModel:
        """Return the model as its server lists it. Raises what `models` raises."""
        name = await self.name(deadline)
        models = await self.models(deadline)
        return next((each for each in models if each.id == name), ServedModel(id=name))

    async def sees_photos(self, deadline: Deadline) -> bool | None:
        """Return what Ollama's or LM Studio's own API says of the model; None from other servers."""
        name = await self.name(deadline)
        with anyio.move_on_after(min(_NATIVE_WITHIN_S, deadline.remaining_s())):
            for method, path in _NATIVE:
                url = self._endpoint.root + path.format(model=quote(name, safe=""))
                body = json.dumps({"model": name}).encode() if method == "POST" else b""
                try:
                    async with self._http.exchange(method, url, self.headers(deadline), body) as response:
                        facts = json.loads(await bounded(response))
                except (ExchangeError, ValueError, RecursionError):
                    continue  # it has no such route
                if (sees := _sees_photos(facts)) is not None:
                    return sees
        return None

    async def models(self, deadline: Deadline) -> list[ServedModel]:
        """Return `GET /v1/models`.

        Raises `VlmKeyRefused`, `NotThisApi`, `Redirected`, `DependencyUnavailable` or `DeadlineExceeded`.
        """
        deadline.require()
        url = self._endpoint.url("/models")
        try:
            with time_limit(deadline):
                async with self._http.exchange("GET", url, self.headers(deadline)) as response:
                    content = await bounded(response)
        except ExchangeError as error:
            raise unreachable(type(error).__name__) from error
        if response.status == HTTPStatus.NOT_FOUND:
            raise NotThisApi("There is no GET /v1/models")
        if not 200 <= response.status < 300:
            refusal = self.failure_at(url, response, content)
            raise final_refusal(refusal) if isinstance(refusal, RequestRefused) else refusal
        try:
            return read_models(content)
        except (ValueError, RecursionError) as error:  # a `ValidationError` is one of values
            raise NotThisApi("GET /v1/models is not of this API") from error

    def failure_at(self, url: str, response: Response, content: bytes) -> Exception:
        """Return the error of a reply."""
        location = response.headers.get("location")
        target = None if location is None else urljoin(url, sendable(location[:_MAX_ADDRESS]))
        retry_after = response.headers.get("retry-after")
        return failure(response.status, read_error(content), retry_after, self._endpoint.model, target)

    def headers(self, deadline: Deadline) -> dict[str, str]:
        """Return the headers of every request to the server."""
        sent = {headers.DEADLINE: str(math.ceil(deadline.remaining_ms()))}
        return sent | trace_headers() | self._endpoint.authorization


@contextmanager
def time_limit(deadline: Deadline) -> Iterator[None]:
    """Raise `DeadlineExceeded` when the time is over."""
    try:
        with anyio.fail_after(deadline.remaining_s()):
            yield
    except TimeoutError as error:
        raise DeadlineExceeded("The vision-language model did not answer in time.") from error


async def bounded(response: Response, limit: int = 2**20) -> bytes:
    """Return the body, up to `limit` bytes; the rest is not read."""
    content = bytearray()
    async for chunk in response.pieces():
        content += chunk
        if len(content) > limit:
            break
    return bytes(content[:limit])


def read_models(content: bytes) -> list[ServedModel]:
    """Read the models of `GET /v1/models`. Raises `ValueError` if it is not that."""
    body = json.loads(content)
    entries = body.get("data", "") if isinstance(body, dict) else ""
    if not isinstance(entries, list | None):
        raise ValueError("not a list of models")
    return [ServedModel.model_validate(entry) for entry in entries or ()]


def _sees_photos(facts: object) -> bool | None:
    """Read a model's capabilities (Ollama) or type (LM Studio)."""
    if not isinstance(facts, dict):
        return None
    if isinstance(able := facts.get("capabilities"), list) and able:
        return "vision" in able
    return {"vlm": True, "llm": False}.get(str(facts.get("type")))


log = structlog.get_logger()

_UNAVAILABLE = "The vision-language model is not available."
_BUSY = "The vision-language model is too busy just now."
_CONTEXT = re.compile(
    "context[ _]length|context window|max_model_len|maximum model length|longer than the maximum"
    "|reduce the length|too many tokens",
    re.IGNORECASE,
)
"""Messages and codes of vLLM and OpenAI for a prompt that is too long."""
_QUOTED_REQUEST = re.compile(r"""['"]input['"]\s*:""")
_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_LOGGED = 80


class VlmReplyUnusable(DependencyUnavailable):
    """The model's reply is not the object that was asked for, even after one repair."""


class VlmDeclined(VlmReplyUnusable):
    """The server's safeguards kept the model from answering."""


class VlmKeyRefused(DependencyUnavailable):
    """The server wants another key, or one at all."""


class ContextTooLong(DependencyUnavailable):
    """Prompt and reply together are longer than the model's context; a shorter prompt may fit."""


class ServerFailed(DependencyUnavailable):
    """The server is there and answered a request with an error of its own; another request may work."""


class NotThisApi(DependencyUnavailable):
    """Something answers at the address, but not with OpenAI's API."""


class Redirected(DependencyUnavailable):
    """The server sends callers to another address, `target`."""

    def __init__(self, target: str) -> None:
        super().__init__(_UNAVAILABLE)
        self.target = target


class RequestRefused(Exception):
    """The server takes requests, but not this one: perhaps it lacks an ability."""

    def __init__(self, error: ErrorWire, status: int) -> None:
        super().__init__(status)
        self.error = error
        self.status = status

    @property
    def complaint(self) -> str:
        """The reason as the server gives it, without the request that vLLM quotes behind it."""
        return _complaint(self.error)


def failure(
    status: int, error: ErrorWire, retry_after: str | None, model: str, target: str | None = None
) -> Exception:
    """Return the error for an HTTP status, or for the status that an event of the stream carries.

    `target`: the address that a redirect names.
    """
    if target is not None and status in _REDIRECTS:
        log.error("vlm.redirected", status=status, target=target, advice="use that address for the model")
        return Redirected(target)
    if status in (401, 403):
        log.error("vlm.key_refused", status=status, advice="set the key that the server was started with")
        return VlmKeyRefused(_UNAVAILABLE)
    if status == 429:
        return Overloaded(_BUSY, retry_after_s=seconds_of(retry_after, otherwise=1.0))
    if is_about_images(_complaint(error)):  # told with any status: 400, 404, 415, 422, 500
        return RequestRefused(error, status)
    if status == 503:
        return Overloaded(_BUSY, retry_after_s=seconds_of(retry_after, otherwise=1.0))
    if status in (400, 413, 415, 422):
        if _CONTEXT.search(f"{error.code or ''} {error.message}"):
            return ContextTooLong("Question and evidence are longer than the model can read at once.")
        return RequestRefused(error, status)
    if status == 404:
        log.error("vlm.model_or_route_unknown", model=model, advice="GET /v1/models names what is served")
        return DependencyUnavailable(_UNAVAILABLE)
    log.warning("vlm.failed", status=status, **_loggable(error))
    return ServerFailed(_UNAVAILABLE)


def _complaint(error: ErrorWire) -> str:
    message = _QUOTED_REQUEST.split(error.message, maxsplit=1)[0]
    return f"{error.param or ''} {error.code or ''} {message}"


def final_refusal(refusal: RequestRefused) -> LoreglassError:
    """Return the error for a request that the server takes in no form."""
    log.error("vlm.request_refused", status=refusal.status, **_loggable(refusal.error))
    return DependencyUnavailable(_UNAVAILABLE)


def unreachable(reason: str) -> LoreglassError:
    """Return the error for a server that is away, or went away."""
    log.warning("vlm.unreachable", reason=reason)
    return DependencyUnavailable(_UNAVAILABLE)


def _loggable(error: ErrorWire) -> dict[str, str]:
    """Type, parameter and code; the message may quote the user's question."""
    fields = {"type": error.type, "param": error.param, "code": error.code}
    return {f"server_{key}": str(value)[:_MAX_LOGGED] for key, value in fields.items() if value is not None}
