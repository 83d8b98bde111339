"""`python -m tests.unit.gateway.leases.gateway_process URL LOG`: a gateway that always has too much to do.

It writes one line for each time that one of its callers goes in or out: the machine's monotonic clock, which
caller, 1 or 0, and whether the gateway counts alone. The clock puts lines of several processes in order.
"""

import random
import sys
import time
from pathlib import Path

import anyio

from chassis.resilience.deadlines import Deadline
from chassis.resilience.gates import Gate
from gateway.serving.leases import Leases
from gateway.serving.sessions.redis import connect

WHOLE = 8
GATEWAYS = 3
TTL_S = 0.6


async def main(url: str, log: Path) -> None:
    """Until killed."""
    gate = Gate("vlm", WHOLE, 1000)
    leases = Leases(connect(url, timeout_s=0.2), "node", GATEWAYS, ttl_s=TTL_S)
    leases.share("vlm", gate, WHOLE)
    with log.open("w", buffering=1) as file:

        async def work(caller: int) -> None:
            while True:
                async with gate.entered(Deadline.after_ms(1e6)):
                    if leases.lapsed:  # stopped between the gate's look at the clock and this line
                        continue
                    file.write(f"{time.monotonic()} {caller} 1 {int(leases.alone)}\n")
                    await anyio.sleep(random.uniform(0.005, 0.03))
                    file.write(f"{time.monotonic()} {caller} 0 {int(leases.alone)}\n")

        async with anyio.create_task_group() as group:
            group.start_soon(leases.run)
            for caller in range(WHOLE + 4):
                group.start_soon(work, caller)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], Path(sys.argv[2]))
