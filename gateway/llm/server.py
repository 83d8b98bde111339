"""Ask a model server for its models and their properties."""

import json
import math
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
_NATIVE_WITHIN_S = 5.0
_NATIVE = (("GET", "/props"), ("POST", "/api/show"), ("GET", "/api/v0/models/{model}"))
"""Paths at which llama.cpp, Ollama and LM Studio describe a model in more detail than `/v1/models`."""


class ModelMetaWire(Wire):
    """llama.cpp's facts about a model."""

    n_ctx: Count | None = None


class ServedModel(Wire):
    """One entry of `GET /v1/models`; its context in tokens stands in `max_model_len` (vLLM) or `meta`.

    `sees_photos` and `chats` are None if the server does not tell.
    """

    id: str
    max_model_len: Count | None = None
    meta: ModelMetaWire | None = None
    sees_photos: bool | None = None
    chats: bool | None = None

    _forgiving = field_validator("max_model_len", "meta", mode="wrap")(none_if_unreadable)

    @property
    def context(self) -> int:
        """In tokens; 0 where the server does not tell it."""
        return self.max_model_len or (self.meta.n_ctx if self.meta else None) or 0

    def with_facts(self, facts: object) -> "ServedModel":
        """Return this entry completed by what a server's own format says of the model."""
        sees = _sees_photos(facts) if self.sees_photos is None else self.sees_photos
        chats = _chats(facts) if self.chats is None else self.chats
        return self.model_copy(update={"sees_photos": sees, "chats": chats})


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
            chatting = [each for each in await self.models(deadline) if each.chats is not False]
            if not chatting:
                raise failure(404, ErrorWire(), None, "")
            self.model = chatting[0].id
        return self.model

    async def details(self, deadline: Deadline) -> ServedModel:
        """Return the model as its server describes it. Raises what `models` raises."""
        name = await self.name(deadline)
        models = await self.models(deadline)
        model = next((each for each in models if each.id == name), ServedModel(id=name))
        return await self.with_native_facts(model, deadline)

    async def with_native_facts(self, model: ServedModel, deadline: Deadline) -> ServedModel:
        """Ask the server's own API whether the model sees photos, if `GET /v1/models` does not say so."""
        with anyio.move_on_after(min(_NATIVE_WITHIN_S, deadline.remaining_s())):
            for method, path in _NATIVE:
                if model.sees_photos is not None:
                    break
                url = self._endpoint.native_url(path.format(model=quote(model.id, safe="")))
                body = json.dumps({"model": model.id}).encode() if method == "POST" else b""
                try:
                    async with self._http.exchange(method, url, self.headers(deadline), body) as response:
                        content = await bounded(response)
                    if response.status == HTTPStatus.OK:
                        model = model.with_facts(json.loads(content))
                except (ExchangeError, ValueError, RecursionError):
                    continue  # it has no such route
        return model

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
    if not isinstance(body, dict) or not ("data" in body or "models" in body):
        raise ValueError("not a list of models")
    own = {
        name: facts
        for facts in body.get("models") or ()  # beside `data` in llama.cpp
        if isinstance(facts, dict)
        for name in (facts.get("model"), facts.get("name"))
    }
    models = [(ServedModel.model_validate(entry), entry) for entry in body.get("data") or ()]
    return [model.with_facts({**own.get(model.id, {}), **entry}) for model, entry in models]


def _sees_photos(facts: object) -> bool | None:
    """Read what llama.cpp, OpenRouter, LM Studio, Ollama and Mistral say of photos, each in its own form."""
    if not isinstance(facts, dict):
        return None
    nested = [facts.get(name) for name in ("architecture", "modalities", "capabilities")]
    for each in (facts, *(inner for inner in nested if isinstance(inner, dict))):
        if isinstance(kinds := each.get("input_modalities"), list):
            return "image" in kinds
        if isinstance(vision := each.get("vision"), bool):
            return vision
    if isinstance(able := facts.get("capabilities"), list) and able:
        return bool({"vision", "multimodal"} & set(map(str, able)))
    return {"vlm": True, "llm": False}.get(str(facts.get("type")))


def _chats(facts: object) -> bool | None:
    """Return whether the server says that the model chats: one that only embeds or ranks does not."""
    if not isinstance(facts, dict):
        return None
    able = facts.get("capabilities")
    if isinstance(able, dict) and isinstance(chats := able.get("completion_chat"), bool):
        return chats
    if isinstance(able, list) and able:
        return not set(map(str, able)) <= {"embedding", "embeddings", "rerank"}
    return False if str(facts.get("type")).startswith(("embedding", "rerank")) else None
