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

import anyio
import structlog
from pydantic import ValidationError

from chassis.errors import DeadlineExceeded, LoreglassError
from chassis.http.client import DisconnectedError, ExchangeError, HttpClient, Response
from chassis.resilience.deadlines import Deadline
from chassis.resilience.guard import Guard
from chassis.telemetry.spans import trace_headers
from contracts import headers
from gateway.llm.assembly import Assembling, Assembly, TextAssembly
from gateway.llm.call import CallObserver, Progress, VlmEndpoint, no_op
from gateway.llm.capabilities import Abilities, Capabilities, without
from gateway.llm.completion import Completion, Written
from gateway.llm.failures import (
    ContextTooLong,
    RequestRefused,
    VlmReplyUnusable,
    failure,
    refused_for_good,
    unreachable,
)
from gateway.llm.prompt import Prompt, Schema, TextPrompt
from gateway.llm.repair import read_object
from gateway.llm.schema_forms import SchemaForm
from gateway.llm.spans import chat_span, tell_cost
from gateway.llm.wire import (
    BrokenStream,
    ErrorWire,
    ModelsWire,
    Sampling,
    ServedModel,
    events,
    kept_call,
    read_chunk,
    read_error,
    request_body,
)
from gateway.reasoning.calls import keep_call

log = structlog.get_logger()

Reply = TypeVar("Reply", bound=Completion[Any] | Written)

_EPILOGUE_S = 0.25  # a server that enforces the schema ends within one token; others may ramble on
_TOO_SLOW = "The vision-language model did not answer in time."
_MAX_ERROR_BYTES = 64 * 2**10
_DEFAULT_ERROR_STATUS = 500


class _StaleConnection(Exception):
    """A kept connection was closed meanwhile, as llama.cpp does after each stream."""


@dataclass(frozen=True, slots=True)
class _Call(Generic[Reply]):
    """One call. `begin`: an empty reply of the kind that is asked for."""

    prompt: Prompt[Any] | TextPrompt
    begin: Callable[[], Assembling[Reply]]
    deadline: Deadline
    progress: Progress


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
    ) -> None:
        self._http = http
        self._endpoint = endpoint
        self._observe = observe
        self._guard = guard
        self._sampling = Sampling(endpoint.seed, endpoint.top_logprobs)
        self._capabilities = Capabilities(endpoint.refresh_s)
        self._discovered: str | None = None

    @property
    def abilities(self) -> Abilities:
        """What the server is believed to take: by the probe, and by what it has refused and heeded since."""
        return self._capabilities.believed()

    @property
    def sees_photos(self) -> bool:
        """Whether the model reads photos."""
        return True

    @property
    def unknown(self) -> bool:
        """Whether the server wants to be probed: at first, after it was away, and after a while."""
        return self._capabilities.due

    @property
    def described(self) -> dict[str, str]:
        """What the probe found, in words; nothing before it."""
        return self.abilities.described if self._capabilities.asked else {}

    def believe(self, found: Abilities) -> None:
        """What the probe found holds from now on."""
        if not self._capabilities.settle(found):
            return
        log.info("vlm.abilities", probed=True, **found.described)
        if not found.form.has_grammar:
            log.warning("vlm.schema_not_held", form=found.form.value)
        if 0 < found.context < self._endpoint.context:
            advice = "set LOREGLASS_GATEWAY_VLM_CONTEXT to what it has, or serve it with more"
            log.error("vlm.context_too_small", has=found.context, told=self._endpoint.context, advice=advice)

    async def trial(
        self, prompt: Prompt[Any] | TextPrompt, asked: Abilities, deadline: Deadline
    ) -> tuple[Abilities, Written]:
        """The reply as text, with what it was asked by: past the guard, unobserved, and nothing is learned.

        Raises `RequestRefused` beside what `write` raises.
        """
        call = _Call(prompt, TextAssembly, deadline, Progress(prompt.name, time.monotonic()))
        try:
            with anyio.fail_after(deadline.remaining_s()):
                taken, assembly = await self._asked(call, asked, proven=False)
        except TimeoutError as error:
            raise DeadlineExceeded(_TOO_SLOW) from error
        return taken, assembly.completion()

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
        if self._guard is None:
            return await self._answered(call)
        return await self._guard.call(lambda: self._answered(call), call.deadline)

    async def _answered(self, call: _Call[Reply]) -> Reply | LoreglassError:
        """The reply, or what is wrong with this prompt or its reply: the server itself is then well."""
        call.progress.started, call.progress.first_token_s = time.monotonic(), None
        try:
            return await self._reply(call)
        except (VlmReplyUnusable, ContextTooLong) as error:
            return error
        except RequestRefused as refusal:
            refused = refused_for_good(refusal)
            refused.__cause__ = refusal
            return refused

    async def ready(self, deadline: Deadline) -> None:
        """Returns if the server is up and serves the model. Raises `DependencyUnavailable` if not."""
        served = await self.served(deadline)
        wanted = self._endpoint.model
        if not any(model.id == wanted or not wanted for model in served):
            raise failure(404, ErrorWire(), None, wanted)

    async def _model(self, deadline: Deadline) -> str:
        """The endpoint's model; without one, what the server serves first, asked once."""
        if self._endpoint.model:
            return self._endpoint.model
        if self._discovered is None:
            served = await self.served(deadline)
            if not served:
                raise failure(404, ErrorWire(), None, "")
            self._discovered = served[0].id
        return self._discovered

    async def context(self, deadline: Deadline) -> int:
        """The model's, in tokens; 0 where the server does not tell it. Raises what `served` raises."""
        model = await self._model(deadline)
        return next((each.context for each in await self.served(deadline) if each.id == model), 0)

    async def served(self, deadline: Deadline) -> list[ServedModel]:
        """`GET /v1/models`. Raises `VlmKeyRefused`, `DependencyUnavailable` or `DeadlineExceeded`."""
        deadline.require()
        try:
            with anyio.fail_after(deadline.remaining_s()):
                url, sent = self._endpoint.url("/models"), self._headers(deadline)
                async with self._http.exchange("GET", url, sent) as response:
                    content = await _bounded(response)
        except TimeoutError as error:
            raise DeadlineExceeded(_TOO_SLOW) from error
        except ExchangeError as error:
            raise unreachable(type(error).__name__) from error
        if not 200 <= response.status < 300:
            told = failure(response.status, read_error(content), None, self._endpoint.model)
            raise refused_for_good(told) if isinstance(told, RequestRefused) else told
        try:
            return ModelsWire.model_validate_json(content).data
        except ValidationError as error:
            raise unreachable("GET /v1/models is not of this API") from error

    async def _reply(self, call: _Call[Reply]) -> Reply:
        believed, proven = self._capabilities.believed(), self._capabilities.proven
        asked, assembly = await self._asked(call, believed, proven=proven)
        keep_call(lambda: kept_call(call.prompt, asked, assembly.text))
        self._learn(asked, assembly)
        if isinstance(assembly, Assembly):
            assembly.under_grammar = self._capabilities.masks_probabilities
        return assembly.completion()

    async def _asked(
        self, call: _Call[Reply], asked: Abilities, *, proven: bool
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
                return asked, await self._ask(body, call.begin(), call.deadline, call.progress)
            except _StaleConnection as error:
                if was_stale:
                    raise unreachable(str(error)) from error
                was_stale = True
            except RequestRefused as refusal:
                less = without(asked, refusal.complaint, proven=proven)
                if less is None:
                    raise
                asked = less

    def _learn(self, asked: Abilities, assembly: Assembling[Any]) -> None:
        cut_off = assembly.finish_reason == "length"
        if asked.form.has_grammar and assembly.text and not cut_off and not _is_one_object(assembly.text):
            asked = replace(asked, form=SchemaForm.WORDS)  # it took the schema and paid no heed to it
            log.warning("vlm.schema_not_held", form=asked.form.value)
        if self._capabilities.learn(asked, of_form=isinstance(assembly, Assembly)):
            log.info("vlm.abilities", probed=False, **asked.described)

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
                        raise await self._failure_of(response)
                    await self._read(response, assembly, progress)
                    tell_cost(call, assembly.usage, progress.first_token_s)
                    return assembly
        except BrokenStream as error:
            raise unreachable(str(error)) from error
        except ExchangeError as error:
            if isinstance(error, DisconnectedError) and progress.first_token_s is None:
                raise _StaleConnection(type(error).__name__) from error
            self._forget()
            raise unreachable(type(error).__name__) from error

    def _forget(self) -> None:
        """The server is away; another version, with another model, may come back."""
        self._capabilities.forget()
        self._discovered = None

    async def _read(self, response: Response, assembly: Assembling[Any], progress: Progress) -> None:
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            self._add(assembly, (await _bounded(response)).decode("utf-8", "replace"))
            return
        async with aclosing(events(response.pieces())) as stream:
            try:
                async for event in stream:
                    self._add(assembly, event)
                    if progress.first_token_s is None and assembly.text:
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

    async def _failure_of(self, response: Response) -> Exception:
        error = read_error(await _bounded(response, _MAX_ERROR_BYTES))
        if response.status == HTTPStatus.NOT_FOUND:
            self._forget()
        retry_after = response.headers.get("retry-after")
        return failure(response.status, error, retry_after, self._endpoint.model)

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
    found = read_object(text)
    if found is None or not found.complete:
        return False
    return text.lstrip().startswith("{") and not text[found.end :].strip()
