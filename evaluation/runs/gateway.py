"""The gateway before the first question: whether it is there, which pipelines it has, which version it is."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
from pydantic import BaseModel

from chassis.errors import LoreglassError, Unauthorized
from chassis.http.calls import ServiceClient, http_client
from chassis.resilience.deadlines import Deadline
from clients.python import LoreglassClient
from evaluation.runs.patience import GatewayLost, GatewayRefuses

_PATIENCE_MS = 15_000


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway that is up. `pipelines`: names, in the gateway's order."""

    url: str
    version: str
    pipelines: tuple[str, ...]
    client: LoreglassClient

    def require(self, pipeline: str | None) -> None:
        """Raises `GatewayRefuses` where it has no such pipeline."""
        if pipeline is not None and pipeline not in self.pipelines:
            raise GatewayRefuses(
                f"There is no pipeline {pipeline!r}; there are: {', '.join(self.pipelines)}."
            )


@asynccontextmanager
async def reached(url: str, key: str = "") -> AsyncIterator[Gateway]:
    """The gateway at that URL, with connections that are closed afterwards. Raises `GatewayLost`."""
    async with http_client() as http:
        if key:
            http.headers["Authorization"] = f"Bearer {key}"
        pipelines = await _pipelines(http, url)
        yield Gateway(url, await _version(http, url), pipelines, LoreglassClient(url, http))


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    data: list[_Model]


class _Info(BaseModel):
    version: str


class _Description(BaseModel):
    info: _Info


async def _pipelines(http: httpx.AsyncClient, url: str) -> tuple[str, ...]:
    service = ServiceClient(http, f"The gateway ({url})", url)
    try:
        models = await service.get("/v1/models", _Models, Deadline.after_ms(_PATIENCE_MS))
    except Unauthorized as error:
        raise GatewayRefuses(f"{error.detail} It is read from LOREGLASS_API_KEY.") from error
    except (LoreglassError, httpx.InvalidURL) as error:
        told = error.detail if isinstance(error, LoreglassError) else f"{url} is no URL."
        raise GatewayLost(f"{told} Is it running? --gateway or LOREGLASS_GATEWAY_URL says where.") from error
    return tuple(model.id for model in models.data)


async def _version(http: httpx.AsyncClient, url: str) -> str:
    """As the gateway describes itself; nothing where it does not."""
    try:
        told = await ServiceClient(http, "The gateway", url).get(
            "/openapi.json", _Description, Deadline.after_ms(_PATIENCE_MS)
        )
    except LoreglassError:
        return ""
    return told.info.version
