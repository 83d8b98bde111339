"""`/v1/memory`: show, export and delete a client's memory."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import anyio.to_thread
from fastapi import Depends, Header, status
from starlette.responses import Response

from chassis.errors import InvalidRequest, NotConfigured
from chassis.http.bodies import Router
from contracts.headers import MEMORY
from contracts.memory import MEMORY_ID, MemoryReply, Sighting
from gateway import state
from gateway.routes.intake import CallerDep, GatewayDep
from gateway.serving.memory import SETTING, Memory
from gateway.steps.memory import PATH

router = Router(prefix=PATH)

_HEADERS = {"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff"}


@dataclass(frozen=True, slots=True)
class _Own:
    """A client's memory: `id` names it, and only within its tenant."""

    memory: Memory
    id: str
    tenant: str


async def _own(
    gateway: GatewayDep,
    caller: CallerDep,
    memory_id: Annotated[str, Header(alias=MEMORY, description="The memory's `id`, as in `/answer`.")] = "",
) -> _Own:
    """Return the client's memory. Raises `NotConfigured` or `InvalidRequest`."""
    if gateway.execution.memory is None:
        raise NotConfigured(f"Nothing is remembered here. Operators switch it on with {SETTING}.")
    if re.fullmatch(MEMORY_ID, memory_id) is None:
        raise InvalidRequest(f"{MEMORY}: must be 32 letters, digits, - or _.")
    return _Own(gateway.execution.memory, memory_id, caller.tenant)


_OwnDep = Annotated[_Own, Depends(_own)]


@router.get("", response_model=MemoryReply)
async def show(own: _OwnDep) -> Response:
    """Return all that the memory holds, the oldest first. It is also the export."""
    sightings = await own.memory.all(own.id, own.tenant)
    content = await anyio.to_thread.run_sync(_reply, own.memory.days, sightings)
    return Response(content, headers=_HEADERS, media_type="application/json")


def _reply(days: int, sightings: Sequence[state.Sighting]) -> str:
    """Blocking: the thumbnails of a full memory have 4 MB."""
    shown = [
        Sighting(
            id=each.id,
            at=each.at,
            place=each.place,
            name=each.name,
            text=each.text,
            thumbnail=base64.b64encode(each.thumbnail),
        )
        for each in sightings
    ]
    return MemoryReply(days=days, sightings=shown).model_dump_json()


@router.get("/{sighting_id}", response_class=Response, responses={200: {"content": {"image/jpeg": {}}}})
async def show_thumbnail(sighting_id: str, own: _OwnDep) -> Response:
    """Return a thumbnail. A citation of the kind `memory` has this address."""
    sighting = await own.memory.one(own.id, own.tenant, sighting_id)
    return Response(sighting.thumbnail, headers=_HEADERS, media_type="image/jpeg")


@router.delete("", status_code=status.HTTP_204_NO_CONTENT)
async def delete_all(own: _OwnDep) -> None:
    """Delete everything that the memory holds."""
    await own.memory.forget(own.id, own.tenant)


@router.delete("/{sighting_id}", status_code=status.HTTP_204_NO_CONTENT)
async def delete_one(sighting_id: str, own: _OwnDep) -> None:
    """Delete one thing. No error if it is already gone."""
    await own.memory.forget(own.id, own.tenant, sighting_id)
