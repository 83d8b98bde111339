"""What a tenant waits beside sixty callers of another, in virtual time: the gateway's queues, real ones, in
front of a service that reads one photo after the other.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import anyio

from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Clock, Deadline
from chassis.resilience.gates import Gate
from chassis.scope import scoped
from gateway.serving.admission import Admission, AdmissionLimits
from gateway.state import Priority
from tests.virtual_time import run_virtual

DECODING_S, READING_S, REST_S = 0.1, 0.5, 0.3
ALONE_S = DECODING_S + READING_S + REST_S
CALLERS, ASKED, PATIENCE_S = 60, 20, 20.0

Enter = Callable[[str, Deadline], AbstractAsyncContextManager[None]]


@dataclass
class Platform:
    """Slots for decoding, admission, the gate before a service, and the service's own worker."""

    clock: Clock
    decoding: Enter
    questions: Admission
    gate: Gate = field(default_factory=lambda: Gate("ocr", 2, 64))
    worker: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))

    async def ask(self, tenant: str) -> float:
        """Seconds until there was an answer, or until it was refused."""
        began = self.clock()
        deadline = Deadline(began + PATIENCE_S, self.clock)
        try:
            with scoped(tenant):
                async with self.decoding(tenant, deadline):
                    await anyio.sleep(DECODING_S)
                async with self.questions.admitted(tenant, Priority.INTERACTIVE, deadline):
                    async with self.gate.entered(deadline), self.worker:
                        await anyio.sleep(READING_S)
                    await anyio.sleep(REST_S)
        except LoreglassError:
            return PATIENCE_S
        return self.clock() - began


async def beside_a_flood(platform: Platform) -> list[float]:
    """What each of the quiet tenant's questions took."""
    took: list[float] = []

    async def flood() -> None:
        while True:
            if await platform.ask("noisy") == PATIENCE_S:
                await anyio.sleep(0.2)

    async with anyio.create_task_group() as group:
        for _ in range(CALLERS):
            group.start_soon(flood)
        await anyio.sleep(10)
        for _ in range(ASKED):
            took.append(await platform.ask("quiet"))
            await anyio.sleep(1)
        group.cancel_scope.cancel()
    return took


def in_virtual_time(measure: Callable[[Clock], Awaitable[list[float]]]) -> list[float]:
    """Sorted."""

    async def main(clock: Clock) -> list[float]:
        return sorted(await measure(clock))

    return run_virtual(main)


def test_beside_sixty_callers_of_another_a_tenant_waits_for_what_has_begun_and_no_more() -> None:
    async def measure(clock: Clock) -> list[float]:
        slots = Admission(AdmissionLimits(2, 40), clock)
        questions = Admission(AdmissionLimits(8, 32), clock)

        def decoding(tenant: str, deadline: Deadline) -> AbstractAsyncContextManager[None]:
            return slots.admitted(tenant, Priority.INTERACTIVE, deadline)

        return await beside_a_flood(Platform(clock, decoding, questions))

    took = in_virtual_time(measure)
    # One place of admission comes free, then two photos are read that were sent before.
    assert took[-2] <= ALONE_S + DECODING_S + 3 * READING_S
