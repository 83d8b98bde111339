"""`loreglass doctor`: what runs here and with which engine, what is indexed, and what to do next."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import anyio
import httpx
from pydantic import BaseModel, ValidationError
from rich.console import Console
from rich.table import Table

from chassis.addresses import service_url
from chassis.http.serving import from_environment
from chassis.settings import ServiceToken
from chassis.startup import CannotStart, WrongSettings
from clients.settings import ClientSettings
from clients.showing import plain
from contracts.collections import Collections
from contracts.errors import Problem
from contracts.operations import Health, Info
from deploy.inventory import APPS, App
from deploy.model_server import find_model, told_abilities
from deploy.settings import PocketSettings
from gateway.settings import GatewaySettings

_WITHIN_S = 8.0
_MISTYPED = (httpx.InvalidURL, OverflowError, UnicodeError)
"""What an address raises that can be none: a port beyond 65535, a bracket left open."""
_VOICE = {"stt": "hears questions", "tts": "speaks answers"}
_GATEWAY, _SEARCHES = "gateway", {"image_search": "photos", "text_search": "passages"}
Body = TypeVar("Body", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Part:
    """One app as it answers now. `info` is None where nothing answers, `health` where it is not ready;
    `trouble` says why. `holds`: photos or passages that are published for searching;
    `unpublished`: versions that no reader sees; `untold`: why none of that is known.
    """

    name: str
    url: str
    info: Info | None = None
    health: Health | None = None
    trouble: str = ""
    holds: int | None = None
    unpublished: tuple[str, ...] = ()
    untold: str = ""

    @property
    def state(self) -> str:
        """In a word or a sentence."""
        if self.info is None:
            return f"does not answer at {self.url}"
        return self.trouble or ("ready, see below" if self.notes else "ready")

    @property
    def notes(self) -> list[str]:
        """What its checks found besides that all is well."""
        checks = self.health.checks if self.health else {}
        notes = [f"{name}: {said}" for name, said in checks.items() if said != "ok"]
        return [*notes, *filter(None, [self.untold])]


async def examine(http: httpx.AsyncClient) -> list[Part]:
    """Every app, asked side by side."""
    parts: dict[str, Part] = {}
    addresses = {app.name: _address(app) for app in APPS}  # settings that cannot be are told before any call

    async def ask(app: App) -> None:
        parts[app.name] = await _part(http, app.name, addresses[app.name])

    async with anyio.create_task_group() as group:
        for app in APPS:
            group.start_soon(ask, app)
    return [parts[app.name] for app in APPS]


def advice(parts: Sequence[Part]) -> Iterator[str]:
    """What is to be known, and what to do next, the most urgent first."""
    away = [part.name for part in parts if part.info is None]
    if len(away) == len(parts):
        yield "Nothing runs here: loreglass serve (in a clone also: make serve)."
        return
    if away == [part.name for part in parts if part.name != _GATEWAY]:
        yield "The services cannot be reached from here; the gateway's line says which of them it misses."
    elif away:
        yield f"Start {', '.join(away)}; the log of each says why it is down."
    for part in parts:
        yield from part.notes
        yield from _left_over(part)
        if part.info and part.info.model:
            able = dict(part.info.model)
            yield f"The model of the {part.name}, {able.pop('name', 'not yet known')}: {told_abilities(able)}"
    if not any(part.holds for part in parts) and any(part.holds is not None for part in parts):
        yield "Nothing is indexed: loreglass index pages FOLDER, loreglass index images FOLDER."
    for part in parts:
        if part.name == _GATEWAY and part.health:
            yield _voice(part.health)
    if any(part.name == _GATEWAY and part.info and part.info.engine == "lite" for part in parts):
        yield (
            "Answers are quotes of the built-in reader. For a model's: loreglass serve --model-url URL"
            " (Ollama: http://127.0.0.1:11434/v1)"
        )


def _left_over(part: Part) -> Iterator[str]:
    if part.unpublished:
        yield (
            f"The {part.name} has versions that nobody sees ({', '.join(part.unpublished)}): one is being"
            " filled, or an indexing was interrupted; its command goes on where it was, then drops the rest."
        )


def _voice(health: Health) -> str:
    """What of voice is set up: readiness has a note on each server."""
    if able := [does for name, does in _VOICE.items() if name in health.checks]:
        return f"Voice: the gateway {' and '.join(able)}."
    return (
        "Voice is not set up, devices use their own: LOREGLASS_GATEWAY_STT_URL and _TTS_URL name servers of"
        " OpenAI's /v1/audio routes."
    )


def report(parts: Sequence[Part], console: Console) -> bool:
    """The table and the advice. Whether all is well."""
    table = Table("part", "state", "runs", "holds")
    for part in parts:
        runs = _runs(part.info) if part.info else ""
        holds = "" if part.holds is None else f"{part.holds:,} {_SEARCHES[part.name]}"
        table.add_row(plain(part.name), plain(part.state), plain(runs), plain(holds))
    console.print(table)
    for line in advice(parts):
        console.print(plain(f"→ {line}"))
    return all(part.health is not None for part in parts)


def main(model_url: str | None = None, model_name: str = "") -> bool:
    """Ask and print. Whether all is well. Raises `CannotStart` for settings that nothing can start with."""
    settings = from_environment(PocketSettings, **({"model": model_url} if model_url else {}))
    console, url, key = Console(), settings.model, settings.model_key.get_secret_value()

    async def run() -> list[Part]:
        async with httpx.AsyncClient(timeout=_WITHIN_S) as http:
            return await examine(http)

    well = report(anyio.run(run), console)
    if url:
        try:
            model = anyio.run(find_model, url, model_name or settings.model_name, key)
        except CannotStart as error:
            console.print(plain(f"→ {error}"))
            return False
        console.print(plain(model.described(from_environment(GatewaySettings))))
    return well


def _runs(info: Info) -> str:
    """The gateway's engine is who reasons for it, wherever that is."""
    place = "" if info.service == _GATEWAY else f" on {info.device}"
    return f"{info.engine}{place}, {info.version}"


async def _part(http: httpx.AsyncClient, name: str, url: str) -> Part:
    info = await _get(http, f"{url}/info", Info)
    if not isinstance(info, Info):
        return Part(name, url)
    health = await _get(http, f"{url}/health/ready", Health)
    trouble = "" if isinstance(health, Health) else health
    held = await _indexed(http, url) if name in _SEARCHES else None
    untold = f"What the {name} holds is not known: {held}" if isinstance(held, str) else ""
    versions = held.collections if isinstance(held, Collections) else None
    holds = None if versions is None else sum(each.points for each in versions if each.aliases)
    left = tuple(each.name for each in versions or () if not each.aliases)
    return Part(name, url, info, health if isinstance(health, Health) else None, trouble, holds, left, untold)


async def _indexed(http: httpx.AsyncClient, url: str) -> Collections | str:
    """With the token that readers show. It is sent nowhere else."""
    try:
        token = ServiceToken().read_token()
    except WrongSettings as error:
        return str(error)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return await _get(http, f"{url}/v1/collections", Collections, headers)


async def _get(
    http: httpx.AsyncClient, url: str, kind: type[Body], headers: Mapping[str, str] | None = None
) -> Body | str:
    """The body, or what is wrong."""
    try:
        reply = await http.get(url, headers=headers)
        if reply.is_success:
            return kind.model_validate_json(reply.content)
        return Problem.model_validate_json(reply.content).detail
    except (httpx.HTTPError, *_MISTYPED):
        return "does not answer"
    except ValidationError:
        return "answers as no part of Loreglass does"


def _address(app: App) -> str:
    """Return the address that the gateway's settings name for a service, else the one on this machine."""
    if app.name == _GATEWAY:
        return from_environment(ClientSettings).gateway_url.rstrip("/")
    gateway, name = from_environment(GatewaySettings), f"{app.name}_url"
    url = str(getattr(gateway, name)) if name in gateway.model_fields_set else service_url(app.port)
    return url.rstrip("/")
