"""Asks an OpenAI-compatible server for one reply, an object or text, within the caller's time.

Replies are streamed, so that leaving closes the connection and the server stops generating.
"""

import json
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urljoin

import anyio
import structlog

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Internal, LoreglassError
from chassis.http.client import DisconnectedError, ExchangeError, HttpClient, Response
from chassis.resilience.deadlines import Clock, Deadline
from chassis.resilience.guard import Guard
from chassis.telemetry.spans import trace_headers
from contracts import headers
from gateway.llm.assembly import Assembling, Assembly, TextAssembly
from gateway.llm.call import CallObserver, Progress, Trial, VlmEndpoint, no_op
from gateway.llm.capabilities import Abilities, ServerFeatures, Thinking, without
from gateway.llm.completion import Completion, Written
from gateway.llm.failures import (
    ContextTooLong,
    NotThisApi,
    RequestRefused,
    ServerFailed,
    VlmDeclined,
    VlmKeyRefused,
    VlmReplyUnusable,
    failure,
    refused_for_good,
    unreachable,
)
from gateway.llm.liveness import Liveness
from gateway.llm.prompt import ImagePart, Prompt, Schema, TextPrompt, user_turns
from gateway.llm.schema_forms import SchemaForm
from gateway.llm.spans import chat_span, tell_cost
from gateway.llm.wire import (
    BrokenStream,
    ErrorWire,
    Sampling,
    ServedModel,
    events,
    kept_call,
    read_chunk,
    read_error,
    read_models,
    request_body,
)
from gateway.reasoning.calls import keep_call

log = structlog.get_logger()

Reply = TypeVar("Reply", bound=Completion[Any] | Written)

_EPILOGUE_S = 0.25  # a server that enforces the schema ends within one token; others may ramble on
_SILENT = "The model does not answer. Look at the log of its server, and restart it."
_TOO_SLOW = "The vision-language model did not answer in time."
_MAX_ERROR_BYTES = 64 * 2**10
_DEFAULT_ERROR_STATUS = 500
_MAX_ADDRESS = 300
_NATIVE_WITHIN_S = 5.0
_NATIVE = (("GET", "/props"), ("POST", "/api/show"), ("GET", "/api/v0/models/{model}"))
"""Where llama.cpp, Ollama and LM Studio tell more of a model than `GET /v1/models` does."""


class _StaleConnection(Exception):
    """A kept connection was closed meanwhile, as llama.cpp does after each stream."""


class _PhotoFailed(Internal):
    """A request with a photo failed. The guard counts it for nothing: text may work all the same."""

    def __init__(self, failure: ServerFailed) -> None:
        super().__init__()
        self.failure = failure


@dataclass(frozen=True, slots=True)
class _Call(Generic[Reply]):
    """One call. `begin`: an empty reply of the kind that is asked for."""

    prompt: Prompt[Any] | TextPrompt
    begin: Callable[[], Assembling[Reply]]
    deadline: Deadline
    progress: Progress

    @property
    def has_photo(self) -> bool:
        """Whether the prompt shows one."""
        return any(isinstance(part, ImagePart) for turn in user_turns(self.prompt) for part in turn)


class VlmClient:
    """Calls to one server. Raises `LoreglassError`s only; `gateway.llm.failures` has its own.

    `guard`: its gate is what keeps the server's own queue short. It wants no adaptive limit: how long a call
    takes is a matter of its tokens.
    """

    def __init__(
        self,
        http: HttpClient,
        endpoint: VlmEndpoint,
        observe: CallObserver = no_op,
        guard: Guard | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._http = http
        self._endpoint = endpoint
        self._observe = observe
        self._guard = guard
        self._sampling = Sampling(endpoint.seed, endpoint.top_logprobs)
        self._features = ServerFeatures(endpoint.refresh_s, clock)
        self._discovered: str | None = None
        self.liveness = Liveness(clock)

    @property
    def abilities(self) -> Abilities:
        """What the server takes, by the probe and by what it has refused and heeded since."""
        return self._features.current()

    @property
    def sees_photos(self) -> bool:
        """False only if the model is known to take text alone."""
        return self.abilities.sees_photos

    @property
    def probe_due(self) -> bool:
        """Whether the server wants a probe: at first, after it was away, and after a while."""
        return self._features.probe_due

    @property
    def described(self) -> dict[str, str]:
        """The model's name as far as it is known, and what a probe found, in words."""
        name = self._endpoint.model or self._discovered
        return ({"name": name} if name else {}) | (self.abilities.described if self._features.probed else {})

    def set_abilities(self, found: Abilities) -> None:
        """Take over what a probe found."""
        if not self._features.set_from_probe(found):
            return
        log.info("vlm.abilities", probed=True, **found.described)
        if not found.form.has_grammar:
            log.warning("vlm.schema_not_held", form=found.form.value)
        if 0 < found.context < self._endpoint.context:
            advice = "set LOREGLASS_GATEWAY_VLM_CONTEXT to what it has, or serve it with more"
            log.error("vlm.context_too_small", has=found.context, told=self._endpoint.context, advice=advice)

    async def trial(self, prompt: Prompt[Any] | TextPrompt, asked: Abilities, deadline: Deadline) -> Trial:
        """The reply as text, perhaps empty: past the guard, unobserved, and nothing is learned from it.

        Raises `RequestRefused`, `ContextTooLong`, `Overloaded`, `DeadlineExceeded` or
        `DependencyUnavailable`.
        """
        call = _Call(prompt, TextAssembly, deadline, Progress(prompt.name, time.monotonic()))
        try:
            with anyio.fail_after(deadline.remaining_s()):
                taken, assembly = await self._asked(call, asked, confirmed=False)
        except TimeoutError as error:
            raise DeadlineExceeded(_TOO_SLOW) from error
        if isinstance(prompt, TextPrompt):  # which tells nothing of forms
            taken = replace(taken, form=asked.form)
        seconds = time.monotonic() - call.progress.started
        first_token_s = call.progress.first_token_s or seconds
        return Trial(taken, assembly.written(), assembly.thinks, first_token_s, seconds)

    async def complete(self, prompt: Prompt[Schema], deadline: Deadline) -> Completion[Schema]:
        """The reply to `prompt`, parsed.

        Raises `VlmReplyUnusable`, `ContextTooLong`, `Overloaded`, `DeadlineExceeded` or
        `DependencyUnavailable`. What cannot be read is an error and is not asked for again; only a call
        that found the server away may be repeated, by the guard.
        """
        deadline.require()
        progress = Progress(prompt.name, time.monotonic())
        return await self._observed(
            _Call(prompt, lambda: Assembly(prompt.schema, hear=prompt.hear), deadline, progress)
        )

    async def write(self, prompt: TextPrompt, deadline: Deadline) -> Written:
        """The text that `prompt` asks for. Raises what `complete` raises; nothing written is unusable."""
        deadline.require()
        progress = Progress(prompt.name, time.monotonic())
        ending = prompt.ends_with
        return await self._observed(_Call(prompt, lambda: TextAssembly(ends_with=ending), deadline, progress))

    async def _observed(self, call: _Call[Reply]) -> Reply:
        outcome = "cancelled"
        completion: Reply | None = None
        try:
            with anyio.fail_after(call.deadline.remaining_s()):
                answered = await self._guarded(call)
            if isinstance(answered, LoreglassError):
                raise answered
            completion = answered
            outcome = "ok"
        except TimeoutError as error:
            outcome = DeadlineExceeded.kind.value
            raise DeadlineExceeded(_TOO_SLOW) from error
        except LoreglassError as error:
            outcome = error.kind.value
            raise
        finally:
            self._observe(call.progress.ended(outcome, completion))
        return completion

    async def _guarded(self, call: _Call[Reply]) -> Reply | LoreglassError:
        try:
            if self._guard is None:
                return await self._answered(call)
            return await self._guard.call(lambda: self._answered(call), call.deadline)
        except _PhotoFailed as error:
            return error.failure

    async def _answered(self, call: _Call[Reply]) -> Reply | LoreglassError:
        """The reply, or what is wrong with this prompt or its reply: the server itself is then well."""
        call.progress.started, call.progress.first_token_s = time.monotonic(), None
        try:
            return await self._reply(call)
        except (VlmReplyUnusable, ContextTooLong) as error:
            return error
        except ServerFailed as error:
            if call.has_photo and self.sees_photos:
                raise _PhotoFailed(error) from error
            self.liveness.doubt()
            raise
        except RequestRefused as refusal:
            refused = refused_for_good(refusal)
            refused.__cause__ = refusal
            return refused

    async def ready(self, deadline: Deadline) -> None:
        """Return if the server lists the model and the model answered last. Raises `LoreglassError`."""
        try:
            served = await self.served(deadline)
        except VlmKeyRefused:
            raise
        except DeadlineExceeded as error:
            raise DependencyUnavailable(_SILENT) from error
        except DependencyUnavailable as error:
            raise DependencyUnavailable(
                "No model server answers at the address that is set. Start it, or correct the address."
            ) from error
        wanted = self._endpoint.model
        if not any(model.id == wanted or not wanted for model in served):
            raise DependencyUnavailable(
                "The server does not list the model that is set. Load it there, or set another name."
            )
        if self.liveness.failing:
            raise DependencyUnavailable(_SILENT)

    async def _model(self, deadline: Deadline) -> str:
        """The endpoint's model; without one, the first that the server lists, asked once."""
        if self._endpoint.model:
            return self._endpoint.model
        if self._discovered is None:
            served = [model for model in await self.served(deadline) if model.chats is not False]
            if not served:
                raise failure(404, ErrorWire(), None, "")
            self._discovered = served[0].id
        return self._discovered

    async def details(self, deadline: Deadline) -> ServedModel:
        """The model as its server describes it. Raises what `served` raises."""
        name = await self._model(deadline)
        listed = await self.served(deadline)
        return await self.completed(next((m for m in listed if m.id == name), ServedModel(id=name)), deadline)

    async def completed(self, model: ServedModel, deadline: Deadline) -> ServedModel:
        """The same with what the server's own API says of photos, if `GET /v1/models` does not say it."""
        with anyio.move_on_after(min(_NATIVE_WITHIN_S, deadline.remaining_s())):
            for method, path in _NATIVE:
                if model.sees_photos is not None:
                    break
                url = self._endpoint.native_url(path.format(model=quote(model.id, safe="")))
                body = [json.dumps({"model": model.id}).encode()] if method == "POST" else []
                try:
                    async with self._http.exchange(method, url, self._headers(deadline), body) as response:
                        content = await _bounded(response)
                    if response.status == HTTPStatus.OK:
                        model = model.with_facts(json.loads(content))
                except (ExchangeError, ValueError, RecursionError):
                    continue  # it has no such route
        return model

    async def served(self, deadline: Deadline) -> list[ServedModel]:
        """`GET /v1/models`.

        Raises `VlmKeyRefused`, `NotThisApi`, `Redirected`, `DependencyUnavailable` or `DeadlineExceeded`.
        """
        deadline.require()
        url = self._endpoint.url("/models")
        try:
            with anyio.fail_after(deadline.remaining_s()):
                async with self._http.exchange("GET", url, self._headers(deadline)) as response:
                    content = await _bounded(response)
        except TimeoutError as error:
            raise DeadlineExceeded(_TOO_SLOW) from error
        except ExchangeError as error:
            raise unreachable(type(error).__name__) from error
        if response.status == HTTPStatus.NOT_FOUND:
            raise NotThisApi("There is no GET /v1/models")
        if not 200 <= response.status < 300:
            told = self._failure_at(url, response, content)
            raise refused_for_good(told) if isinstance(told, RequestRefused) else told
        try:
            return read_models(content)
        except (ValueError, RecursionError) as error:  # a `ValidationError` is one of values
            raise NotThisApi("GET /v1/models is not of this API") from error

    async def _reply(self, call: _Call[Reply]) -> Reply:
        asked, assembly = await self._asked(call, self.abilities, confirmed=self._features.confirmed)
        keep_call(lambda: kept_call(call.prompt, asked, assembly.text))
        self._update_features(asked, assembly)
        if isinstance(assembly, Assembly):
            assembly.under_grammar = self._features.masks_probabilities
        try:
            return assembly.completion()
        except VlmDeclined:
            raise
        except VlmReplyUnusable:
            if not asked.form.has_grammar or self.abilities.form.has_grammar:
                raise
        return await self._reply(call)  # once: the server ignored the schema, and is now asked for lines

    async def _asked(
        self, call: _Call[Reply], asked: Abilities, *, confirmed: bool
    ) -> tuple[Abilities, Assembling[Reply]]:
        """The whole reply, and what it came for: a part that the server refuses is left out."""
        model = await self._model(call.deadline)
        is_text = isinstance(call.prompt, TextPrompt)
        if is_text:  # which asks for no form, so that none can be refused
            asked = replace(asked, form=SchemaForm.WORDS)
        was_stale = False
        while True:
            call.progress.form = None if is_text else asked.form
            call.progress.requests += 1
            try:
                body = request_body(call.prompt, model, asked, self._sampling)
                with self.liveness.call():
                    assembly = await self._ask(body, call.begin(), call.deadline, call.progress)
                self.liveness.answered()
                return asked, assembly
            except _StaleConnection as error:
                if was_stale:
                    raise unreachable(str(error)) from error
                was_stale = True
            except RequestRefused as refusal:
                less = without(asked, refusal.complaint, confirmed=confirmed, with_photo=call.has_photo)
                if less is None:
                    raise
                asked = less

    def _update_features(self, asked: Abilities, assembly: Assembling[Any]) -> None:
        cut_off = assembly.finish_reason == "length"
        if asked.form.has_grammar and assembly.text and not cut_off and not _is_one_object(assembly.text):
            asked = replace(asked, form=SchemaForm.WORDS)  # it took the schema and paid no heed to it
            log.warning("vlm.schema_not_held", form=asked.form.value)
        if assembly.thinks:
            asked = replace(asked, thinking=Thinking.ON)
        if self._features.update_from_reply(asked, of_form=isinstance(assembly, Assembly)):
            log.info("vlm.abilities", probed=False, **self.abilities.described)

    async def _ask(
        self, body: dict[str, Any], assembly: Assembling[Reply], deadline: Deadline, progress: Progress
    ) -> Assembling[Reply]:
        url = self._endpoint.url("/chat/completions")
        try:
            with chat_span(url, body, progress.prompt) as call:
                sent = self._headers(deadline) | {"Content-Type": "application/json"}
                content = json.dumps(body).encode()
                async with self._http.exchange("POST", url, sent, [content]) as response:
                    call.set(**{"http.response.status_code": response.status})
                    if not 200 <= response.status < 300:
                        raise await self._failure_of(url, response)
                    await self._read(response, assembly, progress)
                    tell_cost(call, assembly.usage, progress.first_token_s)
                    return assembly
        except BrokenStream as error:
            raise unreachable(str(error)) from error
        except ExchangeError as error:
            if isinstance(error, DisconnectedError) and progress.first_token_s is None:
                raise _StaleConnection(type(error).__name__) from error
            self._reset()
            self.liveness.failed()
            raise unreachable(type(error).__name__) from error

    def _reset(self) -> None:
        """The server is away; another version, with another model, may come back."""
        self._features.reset()
        self._discovered = None

    async def _read(self, response: Response, assembly: Assembling[Any], progress: Progress) -> None:
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            self._add(assembly, (await _bounded(response)).decode("utf-8", "replace"))
            if assembly.finish_reason is None and not assembly.text:
                raise BrokenStream("a reply has no choices")
            return
        async with aclosing(events(response.pieces())) as stream:
            try:
                async for event in stream:
                    self._add(assembly, event)
                    if progress.first_token_s is None and (assembly.text or assembly.thinks):
                        progress.first_token_s = time.monotonic() - progress.started
                    if assembly.is_complete:
                        await self._read_epilogue(stream, assembly)
                        break
            except BrokenStream:
                if assembly.finish_reason is None:
                    raise

    def _add(self, assembly: Assembling[Any], event: str) -> None:
        chunk = read_chunk(event)
        if isinstance(chunk, ErrorWire):  # vLLM finds some faults only after its 200
            status = chunk.code if isinstance(chunk.code, int) else _DEFAULT_ERROR_STATUS
            raise failure(status, chunk, None, self._endpoint.model)
        assembly.add(chunk)

    async def _read_epilogue(self, stream: AsyncIterator[str], assembly: Assembling[Any]) -> None:
        """The answer is there; why it ended and what it cost may follow, but is not worth much waiting."""
        with anyio.move_on_after(_EPILOGUE_S):
            try:
                async for event in stream:
                    chunk = read_chunk(event)
                    if isinstance(chunk, ErrorWire) or not assembly.add_after(chunk):
                        return
            except (BrokenStream, ExchangeError) as error:
                log.info("vlm.ended_early", reason=type(error).__name__)

    async def _failure_of(self, url: str, response: Response) -> Exception:
        told = self._failure_at(url, response, await _bounded(response, _MAX_ERROR_BYTES))
        if response.status == HTTPStatus.NOT_FOUND and not isinstance(told, RequestRefused):
            self._reset()
        return told

    def _failure_at(self, url: str, response: Response, content: bytes) -> Exception:
        location = response.headers.get("location")
        target = None if location is None else urljoin(url, location[:_MAX_ADDRESS])
        retry_after = response.headers.get("retry-after")
        return failure(response.status, read_error(content), retry_after, self._endpoint.model, target)

    def _headers(self, deadline: Deadline) -> dict[str, str]:
        told = {headers.DEADLINE: str(math.ceil(deadline.remaining_ms()))}
        key = self._endpoint.api_key
        return told | trace_headers() | ({"Authorization": f"Bearer {key}"} if key else {})


async def _bounded(response: Response, limit: int = 2**20) -> bytes:
    """The body, up to `limit` bytes; the rest is not read."""
    content = bytearray()
    async for chunk in response.pieces():
        content += chunk
        if len(content) > limit:
            break
    return bytes(content[:limit])


def _is_one_object(text: str) -> bool:
    """Whether `text` is an object and nothing else; grammars let control characters into its strings."""
    try:
        return isinstance(json.loads(text, strict=False), dict)
    except (ValueError, RecursionError):
        return False
