"""What gateways count together, where they share a Redis: what tenants use, and what is at once."""

import math
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial

from anyio.abc import TaskGroup
from redis.asyncio import Redis

from chassis.http.health import Note
from chassis.resilience.deadlines import Clock, Deadline
from contracts.errors import ErrorKind
from gateway.reasoners import Check
from gateway.serving.budget_metrics import BudgetMetrics
from gateway.serving.leases import Leases
from gateway.serving.measures import QuestionRecord
from gateway.serving.quotas import MemoryRates, Quotas, Rates, SharedRates
from gateway.serving.redis_values import answers
from gateway.serving.sessions.redis import connect
from gateway.serving.tenants import Keys, Quota
from gateway.settings import GatewaySettings, SessionBackend

_RATE_CONNECTIONS = 8
_LEASE_CONNECTIONS = 1
_LEASE_TIMEOUT_S = 0.5
"""A sixth of the time that a lease lasts."""


def quota_of(settings: GatewaySettings) -> Quota:
    """Of tenants without one of their own."""
    return Quota(
        requests_per_minute=settings.tenant_requests_per_minute,
        tokens_per_minute=settings.tenant_tokens_per_minute or math.inf,
        gpu_ms_per_minute=settings.tenant_gpu_ms_per_minute or math.inf,
        in_flight=settings.tenant_in_flight,
        sessions=settings.tenant_sessions,
        traces=settings.tenant_traces,
        stored_bytes=settings.tenant_stored_bytes,
    )


@asynccontextmanager
async def open_quotas(
    settings: GatewaySettings, keys: Keys, clock: Clock, budget: BudgetMetrics, leases: Leases | None
) -> AsyncIterator[tuple[Quotas, dict[str, Check]]]:
    """Shared by gateways that share their sessions; with what readiness asks of where they are counted."""

    def counted(rates: Rates) -> Quotas:
        return Quotas(keys.quota, rates, budget.exceeded, leases)

    if settings.sessions is not SessionBackend.REDIS:
        yield counted(MemoryRates(clock)), {}
        return
    client = connect(settings.redis_url, max_connections=_RATE_CONNECTIONS)
    async with aclosing(SharedRates(client, settings.gateways, clock)) as rates:
        yield counted(rates), {"redis": partial(_redis_note, client)}


@asynccontextmanager
async def open_leases(settings: GatewaySettings, clock: Clock) -> AsyncIterator[Leases | None]:
    """Of the budget that this gateway has a part in, if any."""
    if not settings.shared_budget:
        yield None
        return
    client = connect(settings.redis_url, timeout_s=_LEASE_TIMEOUT_S, max_connections=_LEASE_CONNECTIONS)
    each = settings.shared_nodes == "each"
    async with aclosing(
        Leases(client, settings.shared_budget, settings.gateways, clock, each=each)
    ) as leases:
        yield leases


def charge(settings: GatewaySettings, quotas: Quotas, going_on: TaskGroup, question: QuestionRecord) -> None:
    """What it spent is counted once it is over: of the model, its share of a step that all sequences take."""
    if not quotas.limits(question.tenant):
        return
    spent, speed = question.spent, settings.vlm_speed
    model_ms = (
        spent.prompt_tokens / 1000 * speed.prefill_ms_per_1k
        + spent.completion_tokens * speed.decode_ms_per_token / settings.vlm_sequences
    )
    tokens = spent.prompt_tokens + spent.completion_tokens
    going_on.start_soon(quotas.charge, question.tenant, tokens, spent.card_ms + model_ms)


async def budget_note(leases: Leases, _: Deadline) -> Note:
    """Without Redis questions are answered, as many at once as this gateway's part allows."""
    return Note("each gateway takes its part alone" if leases.alone else "ok")


async def _redis_note(client: Redis, deadline: Deadline) -> Note:
    """Without it questions are answered, as first ones; to stop all gateways at once would help nobody."""
    return Note("ok" if await answers(client, deadline) else ErrorKind.DEPENDENCY_UNAVAILABLE.value)
