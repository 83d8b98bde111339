"""The gateway before the first question: whether it is there, which pipelines it has, which version it is."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from pydantic import BaseModel

from chassis.errors import LoreglassError as ServiceError
from chassis.http.calls import ServiceClient, http_client
from chassis.resilience.deadlines import Deadline
from evaluation.runs.patience import GatewayLost, GatewayRefuses
from loreglass_client import AsyncLoreglass, LoreglassError, Retries
from loreglass_client.errors import Unauthorized

_PATIENCE_MS = 15_000


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway that is up. `pipelines`: names, in the gateway's order."""

    url: str
    version: str
    pipelines: tuple[str, ...]
    client: AsyncLoreglass

    def require(self, pipeline: str | None) -> None:
        """Raises `GatewayRefuses` where it has no such pipeline."""
        if pipeline is not None and pipeline not in self.pipelines:
            raise GatewayRefuses(
                f"There is no pipeline {pipeline!r}; there are: {', '.join(self.pipelines)}. "
                "The pipelines of the papers need a language model at the gateway "
                "(LOREGLASS_GATEWAY_REASONING=vlm)."
            )


@asynccontextmanager
async def reached(url: str, key: str = "") -> AsyncIterator[Gateway]:
    """The gateway at that URL, with connections that are closed afterwards. Raises `GatewayLost`."""
    async with AsyncExitStack() as stack:
        try:  # how long a question is asked for is `Questioner`'s to say
            client = await stack.enter_async_context(AsyncLoreglass(url, key, retries=Retries(most=0)))
            pipelines = await client.pipelines()
        except Unauthorized as error:
            raise GatewayRefuses(f"{error.detail} It is read from LOREGLASS_API_KEY.") from error
        except LoreglassError as error:
            where = "" if url in error.detail else f" ({url})"
            hint = "To ask another gateway, set --gateway or LOREGLASS_GATEWAY_URL."
            raise GatewayLost(f"{error.detail}{where}\n{hint}") from error
        yield Gateway(url, await _version(url, key), pipelines, client)


class _Info(BaseModel):
    version: str


class _Description(BaseModel):
    info: _Info


async def _version(url: str, key: str) -> str:
    """As the gateway describes itself; nothing where it does not."""
    async with http_client() as http:
        try:
            told = await ServiceClient(http, "The gateway", url, token=key).get(
                "/openapi.json", _Description, Deadline.after_ms(_PATIENCE_MS)
            )
        except ServiceError:
            return ""
    return told.info.version
