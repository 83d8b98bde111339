"""The lite profile: every service on its own loopback socket, plain HTTP between them, one process."""

import ctypes
import secrets
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
from anyio.abc import TaskGroup
from anyio.from_thread import start_blocking_portal
from pydantic import SecretStr

from chassis.addresses import is_loopback, shared_token
from chassis.http.serving import BoundApp, listen, running, until_signalled
from chassis.settings import ServiceAccess, TelemetrySettings
from chassis.startup import CannotStart
from chassis.telemetry.logs import configure_logging
from chassis.telemetry.spans import open_telemetry
from chassis.validation import from_environment
from chassis.vectors.port import VectorStore
from corpus.ingest import IMAGES, PAGES
from deploy.administration import RiskChoice
from deploy.contents import Contents, page_of, thing_of
from deploy.documents import documents_router, lookup_router
from deploy.indexing import Indexing, Searches
from deploy.inventory import APPS
from deploy.invitations import invitations_router
from deploy.model_server import ModelServer, find_model
from deploy.models import engine_settings
from deploy.operator import Operator, operator_router
from deploy.settings import LiteSettings
from deploy.uploads import Uploads
from gateway.app import create_app as create_gateway
from gateway.llm.capabilities import Abilities
from gateway.planning.prefetch import side_by_side
from gateway.planning.stages import enough_ms
from gateway.reasoners import open_reasoners
from gateway.settings import GatewaySettings, Reasoning
from gateway.wiring import wire
from services.image_search.thumbnails import Thumbnails
from services.text_search.app import create_app as create_text_search
from services.text_search.engine import Provider
from services.text_search.settings import Engine as SearchEngine
from services.text_search.settings import TextSearchSettings

if TYPE_CHECKING:
    from deploy.lan import Lan

_LOOPBACK = "127.0.0.1"
_OPEN_TO_ALL = (
    "Warning: everybody who can reach {} can ask questions, and their photos travel unencrypted. "
    "Use --lan instead of --host, or set LOREGLASS_GATEWAY_KEYS."
)
_WRITTEN_TO = ("image_search", "text_search")
_M_ARENA_MAX = -8  # malloc.h


@dataclass(frozen=True, slots=True)
class Platform:
    """The addresses of a running platform."""

    gateway_url: str
    service_urls: dict[str, str]
    lan: "Lan | None" = None


@asynccontextmanager
async def platform(settings: LiteSettings) -> AsyncIterator[Platform]:
    """Run all services and the gateway; they are up when this yields.

    Raises `OSError` on a taken port, and `CannotStart` where settings or an engine will not do.
    """
    gateway_settings = gateway_settings_for(settings.host, settings.lan)  # before a socket is bound
    risk = RiskChoice.of(gateway_settings, settings.data_dir)
    if not risk.is_set:
        gateway_settings = gateway_settings.model_copy(update={"risk": risk.current})
    abilities: Abilities | None = None
    if settings.model:
        model = await find_model(
            settings.model, settings.model_name, settings.model_key.get_secret_value(), tell=_say
        )
        gateway_settings, abilities = with_model(model, gateway_settings, settings), model.abilities
        _say(model.description(gateway_settings))
    access = _access()
    lan = _open_lan(settings, gateway_settings) if settings.lan else None
    if lan is not None:
        gateway_settings = lan.settings(gateway_settings)
    services = _bind_services(settings, access)
    urls = {name: bound.url for name, bound in services.items()}
    gateway_settings = gateway_settings.model_copy(update={f"{name}_url": url for name, url in urls.items()})
    token = access.write_secret()
    ports = [port for name in _WRITTEN_TO if (port := urlsplit(urls[name]).port)]
    async with side_by_side() as group:
        operator = _operator(settings, services, group, token, risk)
        wire_probed = partial(wire, open_reasoners=partial(open_reasoners, abilities=abilities))
        further = [
            operator_router(operator),
            documents_router(operator.indexing),
            lookup_router(operator.indexing),
            invitations_router(lan.invitations, lan.certificate.fingerprint)
            if lan
            else invitations_router(None),
        ]
        app = create_gateway(gateway_settings, wire_probed, further=further)
        gateway = BoundApp(app, listen(settings.host, settings.port), tls=lan.tls if lan else None)
        with shared_token(token, ports):  # before anybody can ask a service
            async with running([*services.values(), gateway]):
                try:
                    yield Platform(gateway.url, urls, lan)
                finally:
                    operator.indexing.stop()


@contextmanager
def started_platform(settings: LiteSettings) -> Iterator[Platform]:
    """Run the platform in a thread of its own until the context ends."""
    with (
        start_blocking_portal(backend_options={"use_uvloop": True}) as portal,
        portal.wrap_async_context_manager(platform(settings)) as started,
    ):
        yield started


def _access() -> ServiceAccess:
    """Return the access of the environment, with a write token of this run's own if it names none."""
    access = ServiceAccess()
    if access.write_secret():
        return access
    return access.model_copy(update={"write_token": SecretStr(secrets.token_urlsafe(32))})


def _operator(
    settings: LiteSettings,
    services: Mapping[str, BoundApp],
    group: TaskGroup,
    token: str,
    risk: RiskChoice,
) -> Operator:
    """Return the operator's routes. They read the index directly: services do not return all of it."""

    def store(name: str) -> VectorStore:
        store: VectorStore = services[name].app.state.pool.engine.store
        return store

    searches = Searches(
        services["image_search"].url, services["text_search"].url, services["ocr"].url, token=token
    )
    return Operator(
        Contents(partial(store, "image_search"), IMAGES, thing_of),
        Contents(partial(store, "text_search"), PAGES, page_of),
        Thumbnails(settings.data_dir / "image_search"),
        Indexing(Uploads(settings.data_dir / "uploads"), searches, group),
        risk,
    )


def _open_lan(settings: LiteSettings, gateway: GatewaySettings) -> "Lan":
    from deploy.lan import Lan  # its libraries take 22 MB, which most do not need

    return Lan.open(settings, gateway.keys)


def gateway_settings_for(host: str, lan: bool = False) -> GatewaySettings:
    """Return the environment's settings. By default only callers on this machine may experiment."""
    settings = from_environment(GatewaySettings)
    if "experiments" in settings.model_fields_set or lan or not is_loopback(host):
        return settings
    return settings.model_copy(update={"experiments": True})


def with_model(model: ModelServer, gateway: GatewaySettings, settings: LiteSettings) -> GatewaySettings:
    """The gateway's settings with the model behind them; what the operator has set stays."""
    update = {
        "reasoning": Reasoning.VLM,
        "vlm_url": model.url,
        "vlm_model": model.model,
        "vlm_key": settings.model_key,
    }
    if "vlm_speed" not in gateway.model_fields_set:
        update["vlm_speed"] = model.speed
    if "answer_deadline_ms" not in gateway.model_fields_set:  # else a slow model would never be asked
        enough = enough_ms(model.question_ms(gateway.latencies), gateway.max_deadline_ms)
        update["answer_deadline_ms"] = max(gateway.answer_deadline_ms, enough)
    if model.abilities.context and "vlm_context" not in gateway.model_fields_set:
        update["vlm_context"] = model.abilities.context - model.abilities.thinking_tokens
    return gateway.model_copy(update=update)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _bind_services(settings: LiteSettings, access: ServiceAccess) -> dict[str, BoundApp]:
    """Each service on the next port, in the order of the default ports."""
    apps, larger = {}, engine_settings(settings.models) if settings.models else {}
    for app in APPS[1:]:
        own: dict[str, object] = dict(larger.get(app.name, {}))
        if app.keeps_data:
            own |= {"data_dir": settings.data_dir / app.name, "access": access}
        if app.name == "image_search":
            own["thumbnails"] = True
        apps[app.name] = app.create(from_environment(app.settings, **own))
    if settings.web:
        apps["web_search"] = create_text_search(_web_settings(settings.web, settings.web_key))
    first = settings.service_port
    return {
        name: BoundApp(app, listen(_LOOPBACK, first + place if first else 0))
        for place, (name, app) in enumerate(apps.items())
    }


def _web_settings(web: str, key: SecretStr) -> TextSearchSettings:
    if web in (Provider.BRAVE, Provider.TAVILY):
        return from_environment(
            TextSearchSettings, engine=SearchEngine.WEB, web_provider=Provider(web), web_key=key
        )
    return from_environment(TextSearchSettings, engine=SearchEngine.WEB, web_url=web)


def main(**options: object) -> None:
    """Serve until a signal stops it. `options`: values of `LiteSettings` that replace the environment's."""
    try:
        settings = from_environment(LiteSettings, **options)
    except CannotStart as error:
        sys.exit(str(error))
    # In a terminal a line for each request would scroll the address and the QR code away.
    in_terminal = sys.stderr.isatty() and "log_level" not in settings.model_fields_set
    configure_logging("warning" if in_terminal else settings.log_level)
    _limit_malloc_arenas()

    async def serve() -> None:
        async with platform(settings) as running_platform:
            _say(greeting(running_platform, settings.host, GatewaySettings().keys))
            await until_signalled()

    try:
        with open_telemetry(TelemetrySettings().exporters):
            anyio.run(serve, backend_options={"use_uvloop": True})
    except CannotStart as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(
            f"Cannot listen ({error.strerror}). Other ports: --port, --service-port, LOREGLASS_LAN_PORT."
        )


def greeting(running: Platform, host: str, keys: Path | None) -> str:
    """Return what the terminal shows once the platform is up. `host`, `keys`: of the gateway's settings."""
    lines = [f"Loreglass answers at {running.gateway_url} (Ctrl-C stops it)"]
    if running.lan is not None:
        lines.append(running.lan.description())
    elif not is_loopback(host) and keys is None:
        lines.append(_OPEN_TO_ALL.format(host))
    return "\n".join(lines)


def _limit_malloc_arenas() -> None:
    """Let all threads share two heaps. glibc's default, eight a core, doubles the memory of the process."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "gnu_get_libc_version"):
        libc.mallopt(_M_ARENA_MAX, 2)


if __name__ == "__main__":
    main()
