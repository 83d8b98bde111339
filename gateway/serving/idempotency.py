"""A request that is sent again under its `Idempotency-Key` gets the first one's answer.

A phone in a bad network does not know whether its question arrived. The work therefore goes on when the
caller leaves, and the answer waits for whoever asks again: same key and same request, same answer, for as
long as a session lives. What failed, was refused for want of time or help, or could not be checked, is not
kept; sent again, it is tried again.
"""

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar, cast

import anyio
import structlog
from anyio.abc import TaskGroup
from pydantic import BaseModel, ConfigDict, ValidationError

from chassis.errors import (
    DeadlineExceeded,
    DependencyUnavailable,
    IdempotencyKeyReused,
    Internal,
    InvalidRequest,
)
from chassis.resilience.deadlines import Deadline
from contracts import headers
from contracts.answer import Answer, Reason, Verification
from gateway.expiring_store import ExpiringStore

_MOST_KEY_CHARS = 128
_LOOK_EVERY_S = 0.1
_GRACE_S = 5.0
"""How long a claim outlives its question's deadline: then its gateway has died."""

_PASSING = (Reason.TIMED_OUT, Reason.OVERLOADED, Reason.UNAVAILABLE)
"""Refusals that say nothing of the question: sent again, it deserves another try."""


def _passes(answer: Answer) -> bool:
    return answer.reason in _PASSING or answer.verification is Verification.UNVERIFIED


T = TypeVar("T")

log = structlog.get_logger()


class _Entry(BaseModel):
    """What is kept under a key: the request it belongs to and, once there is one, its answer."""

    model_config = ConfigDict(frozen=True)

    request: str
    answer: Answer | None = None


@dataclass
class _Outcome(Generic[T]):
    """Of work that goes on without its caller; ended without either, it was stopped with the gateway."""

    ended: anyio.Event = field(default_factory=anyio.Event)
    value: T | None = None
    error: Exception | None = field(default_factory=Internal)


def checked_key(given: str | None) -> str | None:
    """The header's key, if there is one. Raises `InvalidRequest`."""
    if given is None:
        return None
    if not 1 <= len(given) <= _MOST_KEY_CHARS or not all("!" <= each <= "~" for each in given):
        raise InvalidRequest(
            f"{headers.IDEMPOTENCY_KEY}: must be 1 to {_MOST_KEY_CHARS} visible ASCII characters."
        )
    return given


@dataclass(frozen=True, slots=True)
class Idempotency:
    """Asks once what is sent several times. `group`: where work goes on after its caller has left."""

    store: ExpiringStore
    group: TaskGroup
    ttl_s: float

    async def once(
        self,
        name: tuple[str, str],
        request: str,
        deadline: Deadline,
        work: Callable[[], Awaitable[Answer]],
        place: ExitStack,
    ) -> tuple[Answer, bool]:
        """The answer, and whether it was asked for before. `name`: tenant and key; `request`: what is asked.

        `place`: see `to_completion`.

        Raises what `work` raises, `IdempotencyKeyReused` where the key came with another request, and
        `DeadlineExceeded` where the first one is still being worked on by then. Without the store every
        request is worked on: an answer twice is better than none.
        """
        key = hashlib.sha256("\0".join(name).encode()).hexdigest()
        claim = _Entry(request=request).model_dump_json().encode()
        while True:
            try:
                left_s = max(0.0, deadline.remaining_s())
                found = await self.store.claim(key, claim, left_s + _GRACE_S, name[0])
            except DependencyUnavailable as error:
                log.warning("idempotency_store_away", reason=error.kind.value)
                return await work(), False
            if found is None:
                to_end = partial(self._work, key, name[0], request, work)
                return await self.to_completion(to_end, place), False
            entry = _entry_of(found)
            if entry is None:
                await self._forget(key, name[0])
            elif entry.request != request:
                raise IdempotencyKeyReused(
                    "This key was sent before with another request; make a new one for this."
                )
            elif entry.answer is not None:
                return entry.answer, True
            if deadline.remaining_s() <= _LOOK_EVERY_S:
                raise DeadlineExceeded("The same request is still being worked on.")
            await anyio.sleep(_LOOK_EVERY_S)

    async def to_completion(self, work: Callable[[], Awaitable[T]], place: ExitStack) -> T:
        """What `work` returns or raises; it is done whether or not its caller stays.

        `place`: what the request holds of its tenant's quota. From now on the work holds it, until it ends:
        else who hangs up could ask without end.
        """
        outcome, held = _Outcome[T](), place.pop_all()

        async def do() -> None:
            with held:
                try:
                    outcome.value, outcome.error = await work(), None
                except Exception as error:  # noqa: BLE001 - raised where the caller waits
                    outcome.error = error
                finally:
                    outcome.ended.set()

        self.group.start_soon(do)
        await outcome.ended.wait()
        if outcome.error is not None:
            raise outcome.error
        return cast(T, outcome.value)

    async def _forget(self, key: str, tenant: str) -> None:
        """What is none of ours."""
        log.warning("stored_value_unreadable", what="idempotency")
        with suppress(DependencyUnavailable):
            await self.store.drop(key, tenant)

    async def _work(
        self, key: str, tenant: str, request: str, work: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        answer = None
        try:
            answer = await work()
            return answer
        finally:
            with anyio.CancelScope(shield=True):
                await self._keep(key, tenant, request, answer)

    async def _keep(self, key: str, tenant: str, request: str, answer: Answer | None) -> None:
        try:
            if answer is None or _passes(answer):
                await self.store.drop(key, tenant)
            else:
                entry = _Entry(request=request, answer=answer)
                await self.store.put(key, entry.model_dump_json().encode(), self.ttl_s, tenant)
        except DependencyUnavailable as error:
            log.warning("answer_not_kept", reason=error.kind.value)


def _entry_of(kept: bytes) -> _Entry | None:
    """None for what is none of ours."""
    try:
        return _Entry.model_validate_json(kept)
    except ValidationError:
        return None
