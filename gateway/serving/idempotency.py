"""A request that is sent again under its `Idempotency-Key` gets the answer to the first one.

A phone in a bad network does not know whether its question arrived. The work therefore goes on when the
caller leaves, and the answer is stored: same key and same request, same answer, for as long as a session
lives. An error, a refusal for lack of time or of a service, and an answer that could not be checked are not
stored; the same request is then tried again.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup
from pydantic import BaseModel, ConfigDict

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
from gateway.store import Store, delete_unreadable, parse_stored

_MOST_KEY_CHARS = 128
_LOOK_EVERY_S = 0.1
_GRACE_S = 5.0
"""Time until a claim expires after its question's deadline. An older claim has lost its gateway."""

_TEMPORARY = (Reason.TIMED_OUT, Reason.OVERLOADED, Reason.UNAVAILABLE)
"""Reasons that are not about the question; the same request is tried again."""

T = TypeVar("T")

log = structlog.get_logger()


class _Entry(BaseModel):
    """The value of a key: the digest of its request and, once there is one, the answer."""

    model_config = ConfigDict(frozen=True)

    request: str
    answer: Answer | None = None

    @property
    def encoded(self) -> bytes:
        return self.model_dump_json().encode()


def idempotency_key(key: str | None) -> str | None:
    """Return the header's key, if there is one. Raises `InvalidRequest`."""
    if key is None or (1 <= len(key) <= _MOST_KEY_CHARS and all("!" <= each <= "~" for each in key)):
        return key
    raise InvalidRequest(
        f"{headers.IDEMPOTENCY_KEY}: must be 1 to {_MOST_KEY_CHARS} visible ASCII characters."
    )


@dataclass(frozen=True, slots=True)
class Idempotency:
    """Answer a repeated request once. `group`: runs work that outlives its caller."""

    store: Store
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
        """Return the answer, and whether it is that of an earlier request.

        `name`: tenant and key; `request`: a digest of the question; `place`: see `to_completion`. Raises what
        `work` raises, `IdempotencyKeyReused` if the key came with another request, and `DeadlineExceeded` if
        the first request is still in work by then. Without the store each request is worked on: an answer
        twice is better than none.
        """
        tenant, key = name[0], hashlib.sha256("\0".join(name).encode()).hexdigest()
        claim = _Entry(request=request)
        while True:
            ttl_s = max(0.0, deadline.remaining_s()) + _GRACE_S
            try:
                current = await self.store.claim(key, claim.encoded, ttl_s, tenant)
            except DependencyUnavailable as error:
                log.warning("idempotency_store_away", reason=error.kind.value)
                return await work(), False
            if current is None:
                work_and_store = partial(self._work_and_store, key, tenant, claim, work)
                return await self.to_completion(work_and_store, place), False
            entry = parse_stored(_Entry, current)
            if entry is None:
                await delete_unreadable(self.store, key, tenant, "idempotency")
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
        """Return or raise what `work` does; it is done whether or not its caller stays.

        `place`: the request's place in its tenant's quota. From now on the work has it, until it ends:
        otherwise a client that disconnects could ask without end.
        """
        outcome, place = asyncio.get_running_loop().create_future(), place.pop_all()
        outcome.add_done_callback(asyncio.Future.exception)  # the caller may not be there to see it

        async def do() -> None:
            with place:
                try:
                    outcome.set_result(await work())
                except Exception as error:  # noqa: BLE001 - raised where the caller waits
                    outcome.set_exception(error)
                finally:
                    if not outcome.done():  # stopped with the gateway
                        outcome.set_exception(Internal())

        try:
            self.group.start_soon(do)
        except BaseException:  # the gateway stops
            place.close()
            raise
        return await asyncio.shield(outcome)

    async def _work_and_store(
        self, key: str, tenant: str, claim: _Entry, work: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        answer = None
        try:
            answer = await work()
            return answer
        finally:
            with anyio.CancelScope(shield=True):
                await self._store(key, tenant, claim, answer)

    async def _store(self, key: str, tenant: str, claim: _Entry, answer: Answer | None) -> None:
        """Store an answer that says something of the question; else the request deserves another try."""
        try:
            if (
                answer is None
                or answer.reason in _TEMPORARY
                or answer.verification is Verification.UNVERIFIED
            ):
                await self.store.delete(key, tenant)
            else:
                entry = claim.model_copy(update={"answer": answer})
                await self.store.put(key, entry.encoded, self.ttl_s, tenant)
        except DependencyUnavailable as error:
            log.warning("answer_not_kept", reason=error.kind.value)
