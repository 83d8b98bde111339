"""One browser for all tests of the page, and gateways on real sockets."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.page import browser as pages
from tests.page.browser import Wearer, wearer
from tests.unit.chassis.pictures import encoded, scene
from tests.unit.gateway.conftest import unhurried  # noqa: F401 - no stage fails because the machine is loaded
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import World, gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner

Open = Callable[..., AbstractContextManager[tuple[Wearer, World]]]
"""`open_page(services, reasoner, **settings)`: somebody before the page of a gateway of its own."""


@pytest.fixture(scope="session")
def photo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the camera shows."""
    path = tmp_path_factory.mktemp("camera") / "scene.jpg"
    path.write_bytes(encoded(scene(960, 1280), "JPEG", quality=90))
    return path


@pytest.fixture(scope="package")
def browser(photo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Chromium for these tests; every wearer has a window of its own in it.

    Playwright keeps an event loop running in this thread: no asynchronous test may come before it has ended.
    """
    if pages.CHROMIUM is None:
        pytest.skip("chromium is not installed here (apt-get install chromium)")
    with pages.chromium(photo, pages.tone(tmp_path_factory.mktemp("sound") / "tone.wav")) as started:
        yield started


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    """Where gateways run: a thread beside the browser's."""
    with start_blocking_portal() as started:
        yield started


@pytest.fixture
def open_page(browser: Any, portal: BlockingPortal) -> Open:
    """See `Open`; options of the browser's window go in `window`."""

    @contextmanager
    def opened(
        services: FakeServices | None = None,
        reasoner: ScriptedReasoner | None = None,
        window: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Iterator[tuple[Wearer, World]]:
        behind = gateway_before(services or portal.call(_services), reasoner, **settings)
        with (
            portal.wrap_async_context_manager(behind) as world,
            wearer(browser, world.url, **(window or {})) as somebody,
        ):
            yield somebody, world

    return opened


async def _services() -> FakeServices:
    return FakeServices()


@pytest.fixture
def services(portal: BlockingPortal) -> FakeServices:
    """Services that work and find one book."""
    return portal.call(_services)
