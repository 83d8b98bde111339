"""`python -m deploy.openapi`: the OpenAPI document of the gateway and of each service, as committed.

A test compares them with the apps, so that no change of the public surface goes unnoticed.
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from deploy import inventory
from deploy.inventory import App

SNAPSHOTS = Path(__file__).resolve().parents[1] / "tests" / "contract" / "openapi"


def _create(app: App) -> FastAPI:
    return app.create(app.settings())


APPS: dict[str, Callable[[], FastAPI]] = {app.name: partial(_create, app) for app in inventory.APPS}


def document(name: str) -> dict[str, Any]:
    """Return the OpenAPI document that the app called `name` serves. No engine is opened."""
    return APPS[name]().openapi()


def snapshot_path(name: str) -> Path:
    """Return where the committed document is kept."""
    return SNAPSHOTS / f"{name}.json"


def as_text(described: dict[str, Any]) -> str:
    """Return the document as it is committed: sorted, so that only real changes differ."""
    return json.dumps(described, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    SNAPSHOTS.mkdir(parents=True, exist_ok=True)
    for name in APPS:
        snapshot_path(name).write_text(as_text(document(name)), encoding="utf-8")
        sys.stderr.write(f"wrote {snapshot_path(name)}\n")


if __name__ == "__main__":
    main()
