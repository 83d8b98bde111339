"""`python -m deploy.openapi`: the OpenAPI document of the gateway and of each service, as committed.

A test compares them with the apps, so that no change of the public surface goes unnoticed.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from gateway.app import create_app as create_gateway
from gateway.settings import GatewaySettings
from services.cropper.app import create_app as create_cropper
from services.cropper.settings import CropperSettings
from services.domain_router.app import create_app as create_domain_router
from services.domain_router.settings import DomainRouterSettings
from services.image_search.app import create_app as create_image_search
from services.image_search.settings import ImageSearchSettings
from services.ocr.app import create_app as create_ocr
from services.ocr.settings import OcrSettings
from services.reader.app import create_app as create_reader
from services.reader.settings import ReaderSettings
from services.reranker.app import create_app as create_reranker
from services.reranker.settings import RerankerSettings
from services.text_search.app import create_app as create_text_search
from services.text_search.settings import TextSearchSettings
from services.verifier.app import create_app as create_verifier
from services.verifier.settings import VerifierSettings

SNAPSHOTS = Path(__file__).resolve().parents[1] / "tests" / "contract" / "openapi"

APPS: dict[str, Callable[[], FastAPI]] = {
    "gateway": lambda: create_gateway(GatewaySettings()),
    "ocr": lambda: create_ocr(OcrSettings()),
    "cropper": lambda: create_cropper(CropperSettings()),
    "image_search": lambda: create_image_search(ImageSearchSettings()),
    "text_search": lambda: create_text_search(TextSearchSettings()),
    "reranker": lambda: create_reranker(RerankerSettings()),
    "domain_router": lambda: create_domain_router(DomainRouterSettings()),
    "verifier": lambda: create_verifier(VerifierSettings()),
    "reader": lambda: create_reader(ReaderSettings()),
}


def document(name: str) -> dict[str, Any]:
    """The OpenAPI document that the app called `name` serves. No engine is opened."""
    return APPS[name]().openapi()


def snapshot_path(name: str) -> Path:
    """Where the committed document is kept."""
    return SNAPSHOTS / f"{name}.json"


def as_text(described: dict[str, Any]) -> str:
    """The document in the form that is committed: sorted, so that only real changes differ."""
    return json.dumps(described, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    """Write every snapshot anew."""
    SNAPSHOTS.mkdir(parents=True, exist_ok=True)
    for name in APPS:
        snapshot_path(name).write_text(as_text(document(name)), encoding="utf-8")
        sys.stderr.write(f"wrote {snapshot_path(name)}\n")


if __name__ == "__main__":
    main()
