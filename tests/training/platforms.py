"""The eight services behind one socket, in a thread of their own."""

from collections.abc import Iterator
from contextlib import contextmanager

from anyio.from_thread import start_blocking_portal

from gateway.clients.services import Services
from gateway.settings import GatewaySettings
from tests.live import live
from tests.unit.gateway.fakes import FakeServices


@contextmanager
def served(services: FakeServices) -> Iterator[GatewaySettings]:
    """Settings of a gateway before these services."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(live(services.app())) as client:
        url = str(client.base_url)
        yield GatewaySettings(**{f"{name}_url": url for name in Services.names()})
