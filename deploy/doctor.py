"""`loreglass doctor`: what runs here and with which engine, what is indexed, and what to do next."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import anyio
import httpx
from pydantic import BaseModel, ValidationError
from rich.console import Console
from rich.table import Table

import chassis
from chassis.addresses import service_url
from chassis.settings import ServiceToken
from chassis.startup import CannotStart, WrongSettings
from chassis.validation import from_environment
from clients.settings import ClientSettings
from clients.showing import plain
from contracts.collections import Collections
from contracts.errors import Problem
from contracts.operations import Health, Info
from deploy.inventory import APPS, App
from deploy.model_server import abilities_sentence, find_model
from deploy.settings import LiteSettings
from gateway.settings import GatewaySettings

_WITHIN_S = 8.0
_MISTYPED = (httpx.InvalidURL, OverflowError, UnicodeError)
"""Errors for an invalid address: a port above 65535, a missing bracket."""
_VOICE = {"stt": "hears questions", "tts": "speaks answers"}
_GATEWAY, _SEARCHES = "gateway", {"image_search": "photos", "text_search": "passages"}
WEIGHTS = Path(chassis.__file__).with_name("models") / "weights"
_ENCODERS = ("cross_encoder", "sentence_encoder")
Body = TypeVar("Body", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Part:
    """One app as it answers now. `info` is None if nothing answers, `health` if it is not ready.

    `points`: photos or passages that are searched. `trouble`: why the health or the points are missing.
    """

    name: str
    url: str
    info: Info | None = None
    health: Health | None = None
    points: int | None = None
    trouble: str = ""

    @property
    def state(self) -> str:
        if self.info is None:
            return f"does not answer at {self.url}"
        if self.health is None:
            return self.trouble
        return "ready, see below" if self.notes else "ready"

    @property
    def notes(self) -> list[str]:
        """Return the problems and remarks of its checks."""
        checks = self.health.checks if self.health else {}
        notes = [f"{name}: {note}" for name, note in checks.items() if note != "ok"]
        if self.health and self.trouble:
            notes.append(f"The contents of {self.name} cannot be read: {self.trouble}")
        return notes


async def examine(http: httpx.AsyncClient) -> list[Part]:
    """Ask every app, side by side."""
    parts: dict[str, Part] = {}
    addresses = {app.name: _address(app) for app in APPS}  # wrong settings are reported before any call

    async def ask(name: str) -> None:
        parts[name] = await _part(http, name, addresses[name])

    async with anyio.create_task_group() as group:
        for name in addresses:
            group.start_soon(ask, name)
    return [parts[app.name] for app in APPS]


async def _part(http: httpx.AsyncClient, name: str, url: str) -> Part:
    info = await _get(http, f"{url}/info", Info)
    if isinstance(info, str):
        return Part(name, url)
    health = await _get(http, f"{url}/health/ready", Health)
    if isinstance(health, str):
        return Part(name, url, info, trouble=health)
    if name not in _SEARCHES:
        return Part(name, url, info, health)
    try:
        token = ServiceToken().read_token()
    except WrongSettings as error:
        return Part(name, url, info, health, trouble=str(error))
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    reply = await _get(http, f"{url}/v1/collections", Collections, headers)
    if isinstance(reply, str):
        return Part(name, url, info, health, trouble=reply)
    return Part(name, url, info, health, sum(each.points for each in reply.collections if each.aliases))


async def _get(
    http: httpx.AsyncClient, url: str, kind: type[Body], headers: Mapping[str, str] | None = None
) -> Body | str:
    """Return the body, or a sentence on what is wrong."""
    try:
        reply = await http.get(url, headers=headers)
        if reply.is_success:
            return kind.model_validate_json(reply.content)
        return Problem.model_validate_json(reply.content).detail
    except (httpx.HTTPError, *_MISTYPED):
        return "does not answer"
    except ValidationError:
        return "answers, but not as a part of Loreglass"


def _address(app: App) -> str:
    """Return the address that the gateway's settings name for a service, else the one on this machine."""
    if app.name == _GATEWAY:
        return from_environment(ClientSettings).gateway_url.rstrip("/")
    gateway, name = from_environment(GatewaySettings), f"{app.name}_url"
    url = str(getattr(gateway, name)) if name in gateway.model_fields_set else service_url(app.port)
    return url.rstrip("/")


def advice(parts: Sequence[Part]) -> Iterator[str]:
    """Yield the problems with the next steps, the most urgent first."""
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
        if part.info and part.info.model:
            abilities = dict(part.info.model)
            name = abilities.pop("name", "not yet known")
            yield f"The model of the {part.name}, {name}: {abilities_sentence(abilities)}"
    points = [part.points for part in parts if part.points is not None]
    if points and not any(points):
        yield "Nothing is indexed: loreglass index pages FOLDER, loreglass index images FOLDER."
    gateway = next((part for part in parts if part.name == _GATEWAY), None)
    if gateway and gateway.health:
        voice = [ability for name, ability in _VOICE.items() if name in gateway.health.checks]
        yield (
            f"Voice: the gateway {' and '.join(voice)}."
            if voice
            else "Voice is not set up, devices use their own. To set it up, let LOREGLASS_GATEWAY_STT_URL and"
            " LOREGLASS_GATEWAY_TTS_URL name servers with OpenAI's /v1/audio routes."
        )
    if gateway and gateway.info and gateway.info.engine == "lite":
        yield (
            "Answers are quotes of the built-in reader. For a model's: loreglass serve --model-url URL"
            " (Ollama: http://127.0.0.1:11434/v1)"
        )


def report(parts: Sequence[Part], console: Console) -> bool:
    """Print the table and the advice; return whether all is well."""
    table = Table("part", "state", "runs", "holds")
    for part in parts:
        runs = holds = ""
        if part.info:  # the gateway's engine may run on another machine
            place = "" if part.name == _GATEWAY else f" on {part.info.device}"
            runs = f"{part.info.engine}{place}, {part.info.version}"
        if part.points is not None:
            holds = f"{part.points:,} {_SEARCHES[part.name]}"
        table.add_row(*map(plain, (part.name, part.state, runs, holds)))
    console.print(table)
    for line in advice(parts):
        console.print(plain(f"→ {line}"))
    return all(part.health is not None for part in parts)


def damaged_weights(folder: Path = WEIGHTS) -> Iterator[str]:
    """Yield the files of the built-in models that cannot be read or do not have their recorded hash."""
    for name in _ENCODERS:
        file = folder / name / "model.json"
        try:
            for other, digest in json.loads(file.read_text("utf-8"))["sha256"].items():
                file = folder / name / other
                if sha256(file.read_bytes()).hexdigest() != digest:
                    yield str(file)
        except (OSError, ValueError, KeyError):
            yield str(file)


def main(model_url: str | None = None, model_name: str = "") -> bool:
    """Ask and print; return whether all is well. Raises `CannotStart` for settings that are wrong."""
    settings = from_environment(LiteSettings, **({"model": model_url} if model_url else {}))
    console, url, key = Console(), settings.model, settings.model_key.get_secret_value()

    async def run() -> list[Part]:
        async with httpx.AsyncClient(timeout=_WITHIN_S) as http:
            return await examine(http)

    is_well = report(anyio.run(run), console)
    if damaged := list(damaged_weights()):
        is_well = False
        advice_on_weights = "Install Loreglass again (in a clone: git checkout chassis/models/weights)."
        console.print(plain(f"→ weights: {', '.join(damaged)} damaged. {advice_on_weights}"))
    else:
        console.print("weights: ok")
    if url:
        try:
            model = anyio.run(find_model, url, model_name or settings.model_name, key)
        except CannotStart as error:
            console.print(plain(f"→ {error}"))
            return False
        console.print(plain(model.description(from_environment(GatewaySettings))))
    return is_well
