"""One budget for several gateways: each leases a part of every bound that they share, from Redis, for a time.

A bound (of questions, a model's sequences, a card's milliseconds, a tenant's requests at once) is a pool. A
gate or an admission holds what is leased of it just now as its own capacity, so nothing on a question's way
asks Redis: in the background one call renews all pools, gives back what is not needed, and gets more when
somebody waits. The rules are in `leases.lua`. What a pool promises: the leases of all gateways together are
never more than it has, whoever is killed, stopped or cut off and whatever Redis forgets (decision 0024 names
the exceptions).
"""

import math
import time
from importlib.resources import files
from typing import Protocol
from uuid import uuid4

import anyio
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from chassis.resilience.deadlines import Clock
from chassis.resilience.gates import Lease

SHARED_BUDGET = "shared_budget"
"""Its name in `degraded` and in readiness, while each gateway counts for itself."""
TTL_S = 3.0
"""How long a lease lasts that is not renewed: what a killed gateway held is free again after that."""
_RENEWALS = 6
"""In the time that a lease lasts."""
_CONTENDED_S = 0.05
"""Between two rounds while somebody waits here, or somewhere else for what is held here."""
_SOONEST_S = 0.01
_BLOCKS = 8
_AT_ONCE = 64
"""Pools in one call of the script, which keeps Redis from others meanwhile."""
_ROUNDING = 1e-9
MOST_PLACES = 10**8
"""Of a pool: more digits the script takes for somebody else's."""

log = structlog.get_logger()


class Bounded(Protocol):
    """What keeps a bound: a gate, an admission. `wanted`: what is inside, and what waits."""

    capacity: float
    lease: Lease

    @property
    def in_use(self) -> float: ...

    @property
    def wanted(self) -> float: ...


class Pool:
    """One gateway's part of one bound, in places of `unit` of the bound's own weight.

    `each`: the bound is of one gateway's node; there are as many as gateways, at most `Leases.gateways`.
    """

    def __init__(
        self, name: str, bound: Bounded, whole: int, unit: float, each: bool, leases: "Leases"
    ) -> None:
        self.name = name
        self.bound = bound
        self.whole = whole
        self.each = each
        self.holders = 1
        self.fence = 0
        self.held = 0
        """Places that Redis counts as this gateway's: it uses no more."""
        self.passing = False
        """Whether it goes when nobody has used it for a while: a tenant's."""
        self.retiring = False
        self._idle_rounds = 0
        self._shorts = 0
        self._allowed = 0
        self._prospect = 0
        self._want = 0
        self._unit = unit
        self._leases = leases
        bound.lease = self
        bound.capacity = 0.0

    @property
    def lapsed(self) -> bool:
        """See `Lease`."""
        return self._leases.lapsed

    @property
    def prospect(self) -> float:
        """See `Lease`."""
        return self._prospect * self._unit

    @property
    def want(self) -> int:
        """Places that it would like to have: of large bounds a block more than are needed, so that the next
        need not wait. A tenant's idle gateways would keep too much of its few from the busy one.
        """
        return self._want

    @property
    def used(self) -> int:
        """Places in use."""
        return math.ceil(self.bound.in_use / self._unit - _ROUNDING)

    @property
    def contended(self) -> bool:
        """Whether it is worth asking again soon: some wait here, or more is held than is its share."""
        return self._shorts > 0 or self.bound.wanted > self.bound.capacity or self.held > self._allowed

    def short(self) -> None:
        """See `Lease`."""
        self._shorts += 1
        self._leases.wake()

    def asking(self) -> tuple[int, ...]:
        """What the script is asked. What is given back is out of use before Redis is told."""
        self._idle_rounds = 0 if self.bound.wanted else self._idle_rounds + 1
        if self.passing and self._idle_rounds > 2 * _RENEWALS:
            self.retiring = True
        whole = self.whole * min(self.holders, self._leases.gateways) if self.each else self.whole
        refused = self._shorts if self.bound.wanted <= self.bound.capacity else 0  # they do not wait for it
        wanted = math.ceil(self.bound.wanted / self._unit - _ROUNDING) + refused
        spare = 0 if self.passing else self.whole // _BLOCKS
        wanted = min(whole, wanted + spare)
        self._shorts = 0
        self._want = 0 if self.retiring else max(wanted, (wanted + self._want) // 2)  # a lull gives half back
        if not self._leases.alone or self.retiring:
            self._allowed = min(self._allowed, self._want)
            self._use(min(self.held, max(self.used, self._allowed)))
        return self.fence, self.held, self._want, self.whole, int(self.each)

    def answered(self, fence: int, held: int, allowed: int, prospect: int, holders: int) -> None:
        """Take over what the script says."""
        self.fence, self._allowed, self._prospect, self.holders = fence, allowed, prospect, holders
        self._use(held)

    def share(self, gateways: int, most: int | None = None) -> None:
        """Without Redis: a part as large as everybody's, and no more than `most`."""
        part = self.whole if self.each else max(1, self.whole // max(gateways, self.holders))
        self._allowed = self._prospect = part if most is None else min(part, most)
        self._use(self._allowed)

    def _use(self, held: int) -> None:
        self.held = held
        self.bound.capacity = min(held, self._allowed) * self._unit  # also unchanged: it lets in who waits


class Leases:
    """All pools of one gateway in the budget `name`, whose counts are in `client`'s Redis.

    `gateways`: how many there are at most, as the operator says; those last seen count where they are more.
    Times in seconds on `clock`, which must go on while the process is stopped.
    """

    def __init__(
        self,
        client: Redis,
        name: str,
        gateways: int = 1,
        clock: Clock = time.monotonic,
        namespace: str = "loreglass",
        each: bool = False,
        ttl_s: float = TTL_S,
    ) -> None:
        self.pools: dict[str, Pool] = {}
        self.alone = False
        """Whether Redis is away, so that each gateway counts for itself."""
        self._client = client
        self._script = client.register_script(files(__package__).joinpath("leases.lua").read_text())
        self._prefix = f"{namespace}:budget:1:{{{name}}}"
        self._holder = uuid4().hex
        self.gateways = gateways
        self._each = each
        self._clock = clock
        self._ttl_s = ttl_s
        self._until = clock() + ttl_s  # of nothing: a first round that fails is not the end of all
        self._away_since: float | None = None
        self._wake = anyio.Event()
        self._done = anyio.Event()
        self._begun = self._ended = 0
        self._asking = anyio.Lock()

    @property
    def lapsed(self) -> bool:
        """Whether what was leased is no longer this gateway's: it was stopped, or Redis was silent."""
        return not self.alone and self._clock() >= self._until

    def share(
        self, name: str, bound: Bounded, whole: float, unit: float = 1.0, each: bool | None = None
    ) -> Pool:
        """Put the bound under the budget; all gateways must say the same of it. It is shut until leased."""
        each = self._each if each is None else each
        self.pools[name] = pool = Pool(name, bound, min(MOST_PLACES, round(whole / unit)), unit, each, self)
        self.wake()
        return pool

    async def next_round(self) -> None:
        """Until Redis was asked once more, or did not answer. Needs `run`."""
        number = self._begun + 1
        self.wake()
        while self._ended < number:
            await self._done.wait()

    def lacking(self) -> str:
        """`SHARED_BUDGET` while Redis is away, else nothing."""
        return SHARED_BUDGET if self.alone else ""

    def wake(self) -> None:
        """A round is due now."""
        self._wake.set()

    async def run(self) -> None:
        """Keep the leases until cancelled."""
        while True:
            await self.round()
            contended = any(pool.contended for pool in self.pools.values())
            with anyio.move_on_after(_CONTENDED_S if contended else self._ttl_s / _RENEWALS):
                if contended:
                    await anyio.sleep_forever()
                await self._wake.wait()
                await anyio.sleep(_SOONEST_S)

    async def round(self) -> None:
        """Ask once for all pools, one at a time."""
        async with self._asking:
            self._wake = anyio.Event()
            self._begun += 1
            pools, began = list(self.pools.values()), self._clock()
            if self.lapsed and self._away_since is None:  # stopped for long: others may have it by now
                for pool in pools:
                    pool.share(1, most=0)
            try:
                told = await self._ask(pools)
            except (RedisError, OSError, ValueError, TypeError) as error:
                self._unanswered(type(error).__name__, began)
            else:
                self._answered(pools, told, began)
            self._ended = self._begun
            self._done.set()
            self._done = anyio.Event()

    def _answered(self, pools: list[Pool], told: list[list[int]], began: float) -> None:
        self._until, self._away_since = began + self._ttl_s, None
        if self.alone:
            self.alone = False
            log.info("budget_shared_again", gateways=max((pool.holders for pool in pools), default=1))
        for pool, answer in zip(pools, told, strict=True):
            pool.answered(*answer)
            if pool.retiring and not pool.bound.wanted:
                del self.pools[pool.name]

    async def _ask(self, pools: list[Pool]) -> list[list[int]]:
        answers = list[list[int]]()
        for first in range(0, max(1, len(pools)), _AT_ONCE):
            part = pools[first : first + _AT_ONCE]
            keys = [self._prefix, *(f"{self._prefix}:{pool.name}" for pool in part)]
            asked = [number for pool in part for number in pool.asking()]
            numbers = [round(self._ttl_s * 1000), self.gateways, *asked]
            told = await self._script(keys=keys, args=[self._holder, *numbers])
            answers += [[int(number) for number in answer] for answer in told]
        if [len(answer) for answer in answers] != [5] * len(pools):
            raise ValueError("another answer than the script's")
        return answers

    def _unanswered(self, reason: str, began: float) -> None:
        """What is leased may be used until it lapses; then each gateway has a share as large as the others'.

        Somebody else's lease may have been renewed after ours, but before Redis went: until that has lapsed
        too, nobody may have more than before.
        """
        now = self._clock()
        if self._away_since is None or now - began >= self._ttl_s:
            if now >= self._until:  # it was stopped within the call: others may have what was held before
                for pool in self.pools.values():
                    pool.share(1, most=0)
            self._away_since = now
        if now < self._until:
            return
        if not self.alone:
            self.alone = True
            log.warning("budget_not_shared", reason=reason, gateways=self.gateways)
        waits = now < max(self._until, self._away_since) + self._ttl_s
        for pool in self.pools.values():
            pool.share(self.gateways, most=pool.held if waits else None)

    async def aclose(self) -> None:
        """Give everything back, as far as Redis can be told, and close the client."""
        for pool in self.pools.values():
            pool.retiring = True
        await self.round()
        await self._client.aclose()
