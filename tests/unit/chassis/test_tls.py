"""HTTPS beside plain HTTP: the certificate is checked, and handshakes are bounded."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx

from chassis.http.serving import BoundApp, listen, running
from chassis.http.tls import TlsListener, server_context
from chassis.settings import AppSettings
from deploy.lan import MachineNames, OwnCertificate
from tests.unit.chassis.apps import Witness, probe_app

NAMES = MachineNames(("laptop", "laptop.local"), ("192.168.1.5",))


@asynccontextmanager
async def secured(
    folder: Path, settings: AppSettings | None = None
) -> AsyncIterator[tuple[int, Path, Witness]]:
    """An app on HTTP and HTTPS: the port of the latter, and its certificate."""
    witness = Witness()
    certificate = OwnCertificate(folder, lambda: datetime.now(UTC), lambda: NAMES)
    certificate.renew()
    context = server_context()
    certificate.load_into(context)
    tls = TlsListener(listen("127.0.0.1", 0), context, handshake_s=0.2)
    app = probe_app(witness, settings)
    async with running([BoundApp(app, listen("127.0.0.1", 0), tls=tls)]):
        yield tls.listener.getsockname()[1], certificate.file, witness


def strict(certificate: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=certificate)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


async def test_a_refused_body_still_gets_its_reply_over_tls(tmp_path: Path) -> None:
    """TLS has no half-closed connections."""
    settings = AppSettings(max_body_bytes=1_000)
    async with secured(tmp_path, settings) as (port, certificate, _):
        site = f"https://127.0.0.1:{port}"
        client = httpx.AsyncClient(verify=strict(certificate))
        refused = await client.post(f"{site}/length", content=b"x" * 2**20)
        wrong = await client.get(f"{site}/health/live", headers={"X": "x" * 2**16})
        served = await client.get(f"{site}/health/live")
        await client.aclose()
    assert (refused.status_code, wrong.status_code, served.status_code) == (413, 431, 200)


async def test_silent_tls_handshakes_are_limited_and_time_out(tmp_path: Path) -> None:
    async with secured(tmp_path) as (port, certificate, _):
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        endings = [await reader.read() for reader, _ in silent]
        for _, writer in silent:
            writer.close()
        async with httpx.AsyncClient(verify=strict(certificate)) as client:
            served = await client.get(f"https://127.0.0.1:{port}/health/live")
    assert endings == [b""] * 20
    assert served.status_code == 200
