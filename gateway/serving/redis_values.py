"""What may come of reading Redis: it does not answer, or what lies there is none of ours."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from chassis.errors import DependencyUnavailable
from chassis.resilience.deadlines import Deadline

_WRONG_TYPE = "WRONGTYPE"

log = structlog.get_logger()


class Unreadable(Exception):
    """Another type than ours, or another shape. It passes for nothing, and is deleted by whoever finds it."""


@contextmanager
def redis_errors(unanswered: str) -> Iterator[None]:
    """Raises `Unreadable` for a key of another type, `DependencyUnavailable` for everything else."""
    try:
        yield
    except (RedisError, OSError) as error:
        if isinstance(error, ResponseError) and _WRONG_TYPE in str(error):
            raise Unreadable from error
        raise DependencyUnavailable(unanswered) from error


@contextmanager
def reading() -> Iterator[None]:
    """Turns what decoding raises into `Unreadable`."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise Unreadable from error


async def delete_unreadable(client: Redis, what: str, *keys: str) -> None:
    """So that it is met once. The log says `what`, and neither the key, which may be a secret, nor the value.

    Raises `DependencyUnavailable`.
    """
    log.warning("stored_value_unreadable", what=what)
    with redis_errors("What was stored cannot be deleted now."):
        await client.delete(*keys)


async def answers(client: Redis, deadline: Deadline) -> bool:
    """Whether Redis does; its client's own limits of time are shorter than any deadline of readiness."""
    deadline.require()
    try:
        await client.ping()
    except (RedisError, OSError):
        return False
    return True
