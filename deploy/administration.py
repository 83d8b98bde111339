"""`/operator`: the risk that answers are given with, and the keys of those who may ask."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, StrictBool

from chassis.errors import InvalidRequest, NotConfigured
from chassis.http.bodies import Router
from chassis.keys import TENANT_NAME, ApiKey
from chassis.vectors.files import replace_text
from contracts.message import Request as Body
from deploy.keys_file import KeysFileEditor
from gateway.routes.intake import GatewayDep
from gateway.settings import GatewaySettings
from gateway.state import Priority
from gateway.thresholds import Risk, load_thresholds
from gateway.wiring import Gateway

_FILE = "risk"


class Key(BaseModel):
    """A key without its secret. `own`: the one that this request came with."""

    prefix: str
    tenant: str
    priority: Priority
    operator: bool
    own: bool


class Administration(BaseModel):
    """The settings that an operator may change.

    `risk_is_set`: by the environment or a thresholds file, so that it is changed there. `explains`: questions
    may ask for an explanation. `keys`: None without a keys file.
    """

    risk: Risk
    risk_is_set: bool
    explains: bool
    keys: list[Key] | None


class NewRisk(Body):
    """The risk from now on."""

    risk: Risk


class NewKey(Body):
    """The tenant and rights of a new key."""

    tenant: Annotated[str, Field(pattern=f"^(?:{TENANT_NAME.pattern})$")]
    priority: Priority = Priority.INTERACTIVE
    operator: StrictBool = False


class MadeKey(BaseModel):
    """The key in full: it is shown once."""

    key: str


@dataclass(slots=True)
class RiskChoice:
    """The risk in force. `folder`: where a choice is kept. `is_set`: elsewhere, so none is taken here."""

    folder: Path
    current: Risk
    is_set: bool

    @classmethod
    def of(cls, settings: GatewaySettings, folder: Path) -> "RiskChoice":
        """Return the settings' risk or, where these do not say, the one that was chosen before."""
        if settings.thresholds is not None or "risk" in settings.model_fields_set:
            return cls(folder, settings.risk, is_set=True)
        try:
            return cls(folder, Risk((folder / _FILE).read_text("utf-8").strip()), is_set=False)
        except (OSError, ValueError):
            return cls(folder, settings.risk, is_set=False)

    def choose(self, risk: Risk) -> None:
        """Keep a choice for the next start. Blocking."""
        replace_text(self.folder / _FILE, risk)
        self.current = risk


def administration_router(risk: RiskChoice) -> APIRouter:
    """The routes below `/operator`. The including router admits operators only."""
    router = Router()

    async def state(request: Request, gateway: Gateway) -> Administration:
        return Administration(
            risk=risk.current,
            risk_is_set=risk.is_set,
            explains=gateway.settings.experiments,
            keys=await _keys(gateway.settings.keys, _prefix_of(request)),
        )

    @router.get("/administration")
    async def administration(request: Request, gateway: GatewayDep) -> Administration:
        """Show what may be changed."""
        return await state(request, gateway)

    @router.put("/risk")
    async def choose_risk(request_body: NewRisk, request: Request, gateway: GatewayDep) -> Administration:
        """Answer with another risk from now on."""
        if risk.is_set:
            raise InvalidRequest("The risk or a thresholds file is set in the environment; change it there.")
        await anyio.to_thread.run_sync(risk.choose, request_body.risk)
        gateway.execution.use_thresholds(load_thresholds(None, request_body.risk))
        return await state(request, gateway)

    @router.post("/keys", status_code=201)
    async def make_key(request_body: NewKey, gateway: GatewayDep) -> MadeKey:
        """Make a key."""
        editor = _editor(gateway)
        key = await anyio.to_thread.run_sync(
            lambda: editor.add(request_body.tenant, request_body.priority, operator=request_body.operator)
        )
        return MadeKey(key=key.text)

    @router.delete("/keys/{prefix}")
    async def revoke_key(prefix: str, request: Request, gateway: GatewayDep) -> Administration:
        """Revoke a key."""
        if prefix == _prefix_of(request):
            raise InvalidRequest("This is the key that you use. Revoke it with another operator's key.")
        await anyio.to_thread.run_sync(_editor(gateway).revoke, prefix)
        return await state(request, gateway)

    return router


async def _keys(path: Path | None, own: str) -> list[Key] | None:
    if path is None:
        return None
    entries = await anyio.to_thread.run_sync(KeysFileEditor(path).entries)
    return [Key(**each.model_dump(exclude={"sha256"}), own=each.prefix == own) for each in entries]


def _editor(gateway: Gateway) -> KeysFileEditor:
    if gateway.settings.keys is None:
        raise NotConfigured("There is no keys file. Start with LOREGLASS_GATEWAY_KEYS=PATH.")
    return KeysFileEditor(gateway.settings.keys)


def _prefix_of(request: Request) -> str:
    key = ApiKey.parse(request.headers.get("authorization", "").partition(" ")[2].strip())
    return key.prefix if key else ""
