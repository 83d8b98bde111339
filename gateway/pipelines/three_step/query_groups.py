"""Several wordings of one question, each searched alone; the one that finds most stands (BlackPearl, 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Deadline
from gateway.clients.services import Services
from gateway.state import Evidence
from gateway.steps.evidence import page_evidence


@dataclass(frozen=True, slots=True)
class Group:
    """What one query found: so many `passages`, in chunks, in search order."""

    query: str
    passages: int = 0
    chunks: tuple[Evidence, ...] = ()


async def search_groups(
    services: Services, queries: Sequence[str], hits: int, deadline: Deadline
) -> tuple[Group, ...]:
    """A group for each query that could be searched, all at once. Raises if none of them could."""
    groups: dict[str, Group] = {}
    failures: list[LoreglassError] = []

    async def search(query: str) -> None:
        try:
            passages = await services.search_pages((query,), hits, deadline)
        except LoreglassError as error:
            failures.append(error)
            return
        chunks = tuple(chunk for passage in passages for chunk in page_evidence(passage))
        groups[query] = Group(query, len(passages), chunks)

    async with anyio.create_task_group() as tasks:
        for query in queries:
            tasks.start_soon(search, query)
    if failures and not groups:
        raise failures[0]
    return tuple(groups[query] for query in queries if query in groups)


def largest(groups: Sequence[Group]) -> Group:
    """The group of most passages; among equals the first."""
    return max(groups, key=lambda group: group.passages, default=Group(""))
