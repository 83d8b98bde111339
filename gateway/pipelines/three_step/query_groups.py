"""Several wordings of one question, each searched alone; the one that finds most stands (BlackPearl, 3.1).

The best 30 chunks of each are taken, and of each page the best chunk: a wording's results are as many as the
pages that its chunks are of (17, 25 and 20 in the paper's figure 3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Deadline
from gateway.clients.services import Services
from gateway.state import Evidence
from gateway.steps.evidence import passage_evidence


@dataclass(frozen=True, slots=True)
class Group:
    """What one query found: the best passage of each page, in search order."""

    query: str
    results: tuple[Evidence, ...] = ()


async def search_groups(
    services: Services, queries: Sequence[str], chunks: int, deadline: Deadline
) -> tuple[Group, ...]:
    """A group for each query that could be searched, all at once. Raises if none of them could."""
    groups: dict[str, Group] = {}
    failures: list[LoreglassError] = []

    async def search(query: str) -> None:
        try:
            passages = await services.search_pages((query,), chunks, deadline, depth=chunks)
        except LoreglassError as error:
            failures.append(error)
            return
        groups[query] = Group(query, tuple(map(passage_evidence, passages)))

    async with anyio.create_task_group() as tasks:
        for query in queries:
            tasks.start_soon(search, query)
    if failures and not groups:
        raise failures[0]
    return tuple(groups[query] for query in queries if query in groups)


def largest(groups: Sequence[Group]) -> Group:
    """The group of most results; among equals the first."""
    return max(groups, key=lambda group: len(group.results), default=Group(""))
