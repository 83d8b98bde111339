"""Calls an OpenAI-compatible server for one reply, an object or text, within the caller's deadline.

Replies are streamed, so that leaving closes the connection and the server stops generating.
"""

import json
import time
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any

import structlog

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Internal, LoreglassError
from chassis.http.client import DisconnectedError, Endpoint, ExchangeError, HttpClient, Response
from chassis.resilience.deadlines import Clock, Deadline
from chassis.resilience.guard import Guard
from gateway.llm.call import (
    CallObserver,
    VlmCall,
    chat_span,
    request_body,
    tell_cost,
    to_model_call,
)
from gateway.llm.capabilities import Abilities, Liveness, ServerFeatures, Thinking, without
from gateway.llm.completion import Assembly, Completion, receive
from gateway.llm.prompt import Prompt, Value
from gateway.llm.server import (
    ContextTooLong,
    RequestRefused,
    ServerAccount,
    ServerFailed,
    VlmDeclined,
    VlmKeyRefused,
    VlmReplyUnusable,
    bounded,
    final_refusal,
    time_limit,
    unreachable,
)
from gateway.llm.wire import BrokenStream
from gateway.reasoning.port import keep_call

log = structlog.get_logger()

_SILENT = "The model does not answer. Look at the log of its server, and restart it."
_MAX_ERROR_BYTES = 64 * 2**10


@dataclass(frozen=True, slots=True)
class Trial:
    """One call that only tries the server. `taken`: the abilities that it was asked with in the end.

    `thinks`: the model wrote thoughts. `seconds`: until the first token, thoughts included (of all for a
    reply without any), and until the end.
    """

    taken: Abilities
    reply: Completion[str]
    thinks: bool
    first_token_s: float
    seconds: float


class _PhotoFailed(Internal):
    """A request with a photo failed. The guard counts it for nothing: text may work all the same."""

    def __init__(self, failure: ServerFailed) -> None:
        super().__init__()
        self.failure = failure


class VlmClient:
    """Calls to one server. Raises `LoreglassError`s only; `gateway.llm.server` has its own.

    `guard`: its gate is what keeps the server's own queue short. It wants no adaptive limit: how long a call
    takes is a matter of its tokens.
    """

    def __init__(
        self,
        http: HttpClient,
        endpoint: Endpoint,
        observe: CallObserver = lambda _call: None,
        guard: Guard | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._http = http
        self._endpoint = endpoint
        self._observe = observe
        self._guard = guard
        self.features = ServerFeatures(clock, endpoint.context)
        self.account = ServerAccount(http, endpoint)
        self.liveness = Liveness(clock)

    @property
    def sees_photos(self) -> bool:
        """False only if the model is known to take text alone."""
        return self.features.current.sees_photos

    @property
    def described(self) -> dict[str, str]:
        """The model's name as far as it is known, and what a probe found, in words."""
        name = {"name": self.account.model} if self.account.model else {}
        return name | (self.features.current.described if self.features.probed else {})

    async def trial(self, prompt: Prompt[Any], abilities: Abilities, deadline: Deadline) -> Trial:
        """Return the reply as text, perhaps empty, without guard and metrics; nothing is learned from it.

        Raises `RequestRefused`, `ContextTooLong`, `Overloaded`, `DeadlineExceeded` or
        `DependencyUnavailable`.
        """
        call = VlmCall(prompt.name)
        taken, assembly = await self._request(prompt, abilities, call, deadline, confirmed=False)
        seconds = time.monotonic() - call.started
        return Trial(taken, assembly.as_text(), assembly.thinks, call.first_token_s or seconds, seconds)

    async def complete(self, prompt: Prompt[Value], deadline: Deadline) -> Completion[Value]:
        """Return the reply to `prompt`, parsed.

        Raises `VlmReplyUnusable`, `ContextTooLong`, `Overloaded`, `DeadlineExceeded` or
        `DependencyUnavailable`. What cannot be read is an error and is not asked for again; only a call
        that found the server away may be repeated, by the guard.
        """
        deadline.require()
        call = VlmCall(prompt.name)
        attempt = partial(self._try, prompt, call, deadline)
        try:
            result = await (self._guard.call(attempt, deadline) if self._guard else attempt())
            if isinstance(result, LoreglassError):
                raise result
            call.outcome, call.usage = "ok", result.usage
            return result
        except _PhotoFailed as error:
            call.outcome = error.failure.kind.value
            raise error.failure from None
        except LoreglassError as error:
            call.outcome = error.kind.value
            raise
        finally:
            call.seconds = time.monotonic() - call.started
            self._observe(call)

    async def _try(
        self, prompt: Prompt[Value], call: VlmCall, deadline: Deadline
    ) -> Completion[Value] | LoreglassError:
        """Return the reply, or an error of this prompt or its reply: then the server itself works."""
        call.started, call.first_token_s = time.monotonic(), None
        try:
            return await self._reply(prompt, call, deadline)
        except (VlmReplyUnusable, ContextTooLong) as error:
            return error
        except ServerFailed as error:
            if prompt.photos and self.sees_photos:
                raise _PhotoFailed(error) from error
            self.liveness.doubt()
            raise
        except RequestRefused as refusal:
            final = final_refusal(refusal)
            final.__cause__ = refusal
            return final

    async def ready(self, deadline: Deadline) -> None:
        """Return if the server lists the model and the model answered last. Raises `LoreglassError`."""
        try:
            models = await self.account.models(deadline)
        except VlmKeyRefused:
            raise
        except DeadlineExceeded as error:
            raise DependencyUnavailable(_SILENT) from error
        except DependencyUnavailable as error:
            raise DependencyUnavailable(
                "No model server answers at the address that is set. Start it, or correct the address."
            ) from error
        name = self._endpoint.model
        if not any(model.id == name or not name for model in models):
            raise DependencyUnavailable(
                "The server does not list the model that is set. Load it there, or set another name."
            )
        if self.liveness.failing:
            raise DependencyUnavailable(_SILENT)

    async def _reply(self, prompt: Prompt[Value], call: VlmCall, deadline: Deadline) -> Completion[Value]:
        abilities, confirmed = self.features.current, self.features.confirmed
        abilities, assembly = await self._request(prompt, abilities, call, deadline, confirmed=confirmed)
        keep_call(lambda: to_model_call(prompt, abilities, assembly.text))
        thinking = Thinking.ON if assembly.thinks else abilities.thinking
        self.features.update_from_reply(replace(abilities, thinking=thinking), of_form=not prompt.is_text)
        try:
            return assembly.completion()
        except VlmReplyUnusable as error:
            schema_sent = abilities.schema and not prompt.is_text
            if isinstance(error, VlmDeclined) or not (schema_sent and assembly.ignores_schema):
                raise
        log.warning("vlm.schema_not_held")
        self.features.update_from_reply(replace(self.features.current, schema=False))
        return await self._reply(prompt, call, deadline)

    async def _request(
        self,
        prompt: Prompt[Value],
        abilities: Abilities,
        call: VlmCall,
        deadline: Deadline,
        *,
        confirmed: bool,
    ) -> tuple[Abilities, Assembly[Value]]:
        """Return the whole reply, and the abilities that it was asked for with.

        What the server refuses is left out of the next request.
        """
        confirmed = confirmed or prompt.is_text  # text asks for no form, so that none can be refused
        was_stale = False
        with time_limit(deadline):
            model = await self.account.name(deadline)
            while True:
                call.form = None if prompt.is_text else abilities.form
                call.requests += 1
                assembly: Assembly[Value] = Assembly(prompt.schema, prompt.ends_with)
                try:
                    with self.liveness.call():
                        await self._send(request_body(prompt, model, abilities), assembly, call, deadline)
                    self.liveness.answered()
                    return abilities, assembly
                except DisconnectedError as error:
                    if was_stale:
                        raise unreachable(type(error).__name__) from error
                    was_stale = True
                except RequestRefused as refusal:
                    shows = prompt.photos > 0
                    fewer = without(abilities, refusal.complaint, confirmed=confirmed, with_photo=shows)
                    if fewer is None:
                        raise
                    abilities = fewer

    async def _send(
        self, body: dict[str, Any], assembly: Assembly[Any], call: VlmCall, deadline: Deadline
    ) -> None:
        """Send a request, and receive its reply into `assembly`."""
        url = self._endpoint.url("/chat/completions")
        try:
            with chat_span(url, body, call.prompt) as span:
                headers = self.account.headers(deadline) | {"Content-Type": "application/json"}
                content = json.dumps(body).encode()
                async with self._http.exchange("POST", url, headers, content) as response:
                    span.set_attribute("http.response.status_code", response.status)
                    if not 200 <= response.status < 300:
                        raise await self._failure_of(url, response)
                    await receive(response, assembly, call, self._endpoint.model)
                    tell_cost(span, assembly.usage, call.first_token_s)
        except BrokenStream as error:
            raise unreachable(str(error)) from error
        except ExchangeError as error:
            if isinstance(error, DisconnectedError) and call.first_token_s is None:
                raise  # of a reused connection that the server closed, as llama.cpp does after each stream
            self._reset()
            self.liveness.failed()
            raise unreachable(type(error).__name__) from error

    def _reset(self) -> None:
        """Forget what is known of a server that is unreachable: it may return with another model."""
        self.features.reset()
        self.account.reset()

    async def _failure_of(self, url: str, response: Response) -> Exception:
        error = self.account.failure_at(url, response, await bounded(response, _MAX_ERROR_BYTES))
        if response.status == HTTPStatus.NOT_FOUND and not isinstance(error, RequestRefused):
            self._reset()
        return error
