"""Every service is ready with its default settings."""

from importlib import import_module
from pathlib import Path

import pytest

from deploy.inventory import APPS, App
from tests.live import live

SERVICES = [app for app in APPS if app.module.startswith("services.")]


@pytest.mark.anyio
@pytest.mark.parametrize("app", SERVICES, ids=lambda app: str(app.name))
async def test_readiness_runs_the_engine(app: App, tmp_path: Path) -> None:
    own = {"data_dir": tmp_path} if app.keeps_data else {}
    create_app = import_module(f"{app.module}.app").create_app
    async with live(create_app(app.settings(port=0, **own))) as client:
        ready = await client.get("/health/ready")
    assert ready.json() == {"status": "ok", "checks": {"engine": "ok"}}
