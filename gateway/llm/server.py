"""Ask a model server for its models."""

import json
import math
import re
from http import HTTPStatus
from urllib.parse import quote, urljoin

import anyio
from pydantic import field_validator

from chassis.errors import DeadlineExceeded
from chassis.http.client import ExchangeError, HttpClient, Response
from chassis.json_text import sendable
from chassis.resilience.deadlines import Deadline
from chassis.telemetry.spans import trace_headers
from contracts import headers
from gateway.llm.call import VlmEndpoint
from gateway.llm.failures import NotThisApi, RequestRefused, failure, final_refusal, unreachable
from gateway.llm.wire import Count, ErrorWire, Wire, none_if_unreadable, read_error

TOO_SLOW = "The vision-language model did not answer in time."
_MAX_ADDRESS = 300
_NO_CHAT = re.compile("embed|rerank", re.IGNORECASE)
_NATIVE_WITHIN_S = 5.0
_NATIVE = (("POST", "/api/show"), ("GET", "/api/v0/models/{model}"))
"""Where Ollama and LM Studio say whether a model sees photos, which they may ignore without an error."""


class ModelMetaWire(Wire):
    """llama.cpp's facts about a model."""

    n_ctx: Count | None = None


class ServedModel(Wire):
    """One entry of `GET /v1/models`; its context in tokens stands in `max_model_len` (vLLM) or `meta`."""

    id: str
    max_model_len: Count | None = None
    meta: ModelMetaWire | None = None

    _forgiving = field_validator("max_model_len", "meta", mode="wrap")(none_if_unreadable)

    @property
    def context(self) -> int:
        """In tokens; 0 where the server does not tell it."""
        return self.max_model_len or (self.meta.n_ctx if self.meta else None) or 0

    @property
    def chats(self) -> bool:
        """False for a model whose name says that it only embeds or ranks."""
        return _NO_CHAT.search(self.id) is None


class ServerAccount:
    """Asks a server for its models, and reads its errors. `model`: the name that is set, or that it lists."""

    def __init__(self, http: HttpClient, endpoint: VlmEndpoint) -> None:
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
                url = self._endpoint.native_url(path.format(model=quote(name, safe="")))
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
            with anyio.fail_after(deadline.remaining_s()):
                async with self._http.exchange("GET", url, self.headers(deadline)) as response:
                    content = await bounded(response)
        except TimeoutError as error:
            raise DeadlineExceeded(TOO_SLOW) from error
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
        key = self._endpoint.api_key
        return sent | trace_headers() | ({"Authorization": f"Bearer {key}"} if key else {})


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
