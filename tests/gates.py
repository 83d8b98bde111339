"""Be inside a gate for the length of a block."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chassis.resilience.deadlines import Deadline
from chassis.resilience.gates import Gate


@asynccontextmanager
async def entered(
    gate: Gate, deadline: Deadline, weight: float = 1.0, most_s: float = math.inf
) -> AsyncIterator[None]:
    """Enter, and leave at the end of the block."""
    leave = await gate.enter(deadline, weight, most_s)
    try:
        yield
    finally:
        leave()
