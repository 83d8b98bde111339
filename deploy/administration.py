"""`/operator`: the risk that answers are given with, and the keys of those who may ask.

The gateway reads a changed keys file within a second.
"""

import re
import threading
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, StrictBool

from chassis.errors import CollectionConflict, DependencyUnavailable, InvalidRequest, NotConfigured, NotFound
from chassis.files import replace_bytes, replace_text
from chassis.http.bodies import Router
from chassis.keys import TENANT_NAME, ApiKey
from chassis.startup import WrongSettings
from clients.keys import entry
from contracts.message import Request as Body
from gateway.routes.intake import GatewayDep
from gateway.serving.tenants import KeyEntry, KeysFile, read_keys_file
from gateway.settings import GatewaySettings
from gateway.state import Priority
from gateway.thresholds import Risk, load_thresholds
from gateway.wiring import Gateway

_FILE = "risk"
MOST_KEYS = 1_000
_BLOCK = re.compile(r"^(?=[ \t]*\[)", re.MULTILINE)
"""The start of a table in the file."""
_CHANGING = threading.Lock()


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
    risk: Risk


class NewKey(Body):
    tenant: Annotated[str, Field(pattern=f"^(?:{TENANT_NAME.pattern})$")]
    priority: Priority = Priority.INTERACTIVE
    operator: StrictBool = False


class MadeKey(BaseModel):
    """The key in full: it is shown once."""

    key: str


class KeysFileEditor:
    """Edits one file; comments and tenants stay as they are. Calls block, and are safe from threads."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()

    def entries(self) -> Sequence[KeyEntry]:
        """Return the keys in the order of the file. Raises `DependencyUnavailable`."""
        return self._content().key

    def add(self, tenant: str, priority: Priority, *, operator: bool) -> ApiKey:
        """Return a new key, whose digest is in the file now. Raises as `revoke`, or `InvalidRequest`.

        Without a `tenant` it is a device's, which is one of its own.
        """
        key = ApiKey.new()
        added = entry(key, tenant or f"device-{key.prefix}", priority, operator=operator)
        with _CHANGING:
            before = self._content()
            if len(before.key) >= MOST_KEYS:
                raise InvalidRequest(f"The keys file has {MOST_KEYS} keys already. Revoke some first.")
            text = f"{self._text().rstrip()}\n\n{added}\n".lstrip()
            self._write(text, [*before.key, *KeysFile.model_validate(tomllib.loads(added)).key])
        return key

    def revoke(self, prefix: str) -> None:
        """Remove a key. Raises `NotFound`, or `CollectionConflict` if the file has another layout."""
        with _CHANGING:
            before = self.entries()
            others = [each for each in before if each.prefix != prefix]
            if len(others) == len(before):
                raise NotFound("There is no key with this prefix.")
            blocks = _BLOCK.split(self._text())
            self._write("".join(block for block in blocks if not _is_key(block, prefix)), others)

    def _content(self) -> KeysFile:
        try:
            return read_keys_file(self._path)
        except WrongSettings as error:
            raise DependencyUnavailable(str(error)) from error

    def _text(self) -> str:
        return self._path.read_text("utf-8")

    def _write(self, text: str, keys: Sequence[KeyEntry]) -> None:
        """Write the text if it differs from the file in nothing but the keys, and has these."""
        if _content_of(text) != self._content().model_copy(update={"key": list(keys)}):
            raise CollectionConflict("The keys file has an unusual layout. Change it by hand.")
        try:
            replace_bytes(self._path, text.encode(), mode=self._path.stat().st_mode & 0o777)
        except OSError as error:
            raise DependencyUnavailable(f"The keys file cannot be written ({error.strerror}).") from error


def _is_key(block: str, prefix: str) -> bool:
    try:
        keys = tomllib.loads(block).get("key", [])
    except tomllib.TOMLDecodeError:
        return False
    return isinstance(keys, list) and any(each.get("prefix") == prefix for each in keys)


def _content_of(text: str) -> KeysFile | None:
    try:
        return KeysFile.model_validate(tomllib.loads(text))
    except ValueError:  # TOML's and pydantic's errors are
        return None


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
        return await state(request, gateway)

    @router.put("/risk")
    async def choose_risk(request_body: NewRisk, request: Request, gateway: GatewayDep) -> Administration:
        if risk.is_set:
            raise InvalidRequest("The risk or a thresholds file is set in the environment; change it there.")
        await anyio.to_thread.run_sync(risk.choose, request_body.risk)
        gateway.execution.use_thresholds(load_thresholds(None, request_body.risk))
        return await state(request, gateway)

    @router.post("/keys", status_code=201)
    async def make_key(request_body: NewKey, gateway: GatewayDep) -> MadeKey:
        editor = _editor(gateway)
        key = await anyio.to_thread.run_sync(
            lambda: editor.add(request_body.tenant, request_body.priority, operator=request_body.operator)
        )
        return MadeKey(key=key.text)

    @router.delete("/keys/{prefix}")
    async def revoke_key(prefix: str, request: Request, gateway: GatewayDep) -> Administration:
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
