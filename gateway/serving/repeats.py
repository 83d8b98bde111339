"""A request that is sent again under its `Idempotency-Key` gets the first one's answer.

A phone in a bad network does not know whether its question arrived. The work therefore goes on when the
caller leaves, and the answer waits for whoever asks again: same key and same request, same answer, for as
long as a session lives. What failed is not kept; sent again, it is tried again.
"""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

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
from contracts.answer import Answer
from gateway.serving.kept import Kept

_MOST_KEY_CHARS = 128
_LOOK_EVERY_S = 0.1
_GRACE_S = 5.0
"""How long a claim outlives its question's deadline: then its gateway has died."""

log = structlog.get_logger()


class _Entry(BaseModel):
    """What is kept under a key: the request it belongs to and, once there is one, its answer."""

    model_config = ConfigDict(frozen=True)

    request: str
    answer: Answer | None = None


@dataclass(slots=True)
class _Flight:
    """One question being worked on, for the request that waits for it."""

    ended: anyio.Event = field(default_factory=anyio.Event)
    answer: Answer | None = None
    error: Exception | None = None


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
class Repeats:
    """Asks once what is sent several times. `group`: where work goes on after its caller has left."""

    kept: Kept
    group: TaskGroup
    ttl_s: float

    async def once(
        self, name: tuple[str, str], request: str, deadline: Deadline, work: Callable[[], Awaitable[Answer]]
    ) -> tuple[Answer, bool]:
        """The answer, and whether it was asked for before. `name`: tenant and key; `request`: what is asked.

        Raises what `work` raises, `IdempotencyKeyReused` where the key came with another request, and
        `DeadlineExceeded` where the first one is still being worked on by then. Without the store every
        request is worked on: an answer twice is better than none.
        """
        key = hashlib.sha256("\0".join(name).encode()).hexdigest()
        claim = _Entry(request=request).model_dump_json().encode()
        while True:
            try:
                found = await self.kept.claim(key, claim, max(0.0, deadline.remaining_s()) + _GRACE_S)
            except DependencyUnavailable as error:
                log.warning("repeats_not_recognised", reason=error.kind.value)
                return await work(), False
            if found is None:
                return await self._fly(key, request, work), False
            answer = _answer_of(found, request)
            if answer is not None:
                return answer, True
            if deadline.remaining_s() <= _LOOK_EVERY_S:
                raise DeadlineExceeded("The same request is still being worked on.")
            await anyio.sleep(_LOOK_EVERY_S)

    async def _fly(self, key: str, request: str, work: Callable[[], Awaitable[Answer]]) -> Answer:
        flight = _Flight()
        self.group.start_soon(self._work, key, request, work, flight)
        await flight.ended.wait()
        if flight.answer is None:
            raise flight.error or Internal()
        return flight.answer

    async def _work(
        self, key: str, request: str, work: Callable[[], Awaitable[Answer]], flight: _Flight
    ) -> None:
        try:
            flight.answer = await work()
        except Exception as error:  # noqa: BLE001 - raised where the request waits
            flight.error = error
        finally:
            flight.ended.set()
            with anyio.CancelScope(shield=True):
                await self._keep(key, request, flight.answer)

    async def _keep(self, key: str, request: str, answer: Answer | None) -> None:
        try:
            if answer is None:
                await self.kept.drop(key)
            else:
                entry = _Entry(request=request, answer=answer)
                await self.kept.put(key, entry.model_dump_json().encode(), self.ttl_s)
        except DependencyUnavailable as error:
            log.warning("answer_not_kept", reason=error.kind.value)


def _answer_of(kept: bytes, request: str) -> Answer | None:
    """The answer under a key; None while it is being worked out. Raises `IdempotencyKeyReused`."""
    try:
        entry = _Entry.model_validate_json(kept)
    except ValidationError as error:
        raise Internal from error
    if entry.request != request:
        raise IdempotencyKeyReused("This key was sent before with another request; make a new one for this.")
    return entry.answer
