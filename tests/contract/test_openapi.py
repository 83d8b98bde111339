"""The public surface is the committed one, and the gateway's fake services have that of the real ones."""

import difflib
import json
from typing import Any

import pytest

from deploy.openapi import APPS, SNAPSHOTS, as_text, document, snapshot_path
from tests.unit.gateway.fakes import FakeServices

WORDS = {"title", "description", "operationId", "summary", "tags"}
LIMITS = {
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "default",
    "exclusiveMinimum",
}
FAKED = {
    "ocr": "/v1/ocr",
    "cropper": "/v1/crop",
    "image_search": "/v1/image-search",
    "text_search": "/v1/text-search",
    "reranker": "/v1/rerank",
    "domain_router": "/v1/classify",
    "verifier": "/v1/verify",
    "reader": "/v1/read",
}


@pytest.mark.parametrize("name", APPS)
def test_openapi_document_equals_the_committed_one_without_local_paths(name: str) -> None:
    path = snapshot_path(name)
    committed = path.read_text(encoding="utf-8") if path.exists() else ""
    current = as_text(document(name))
    changes = difflib.unified_diff(
        committed.splitlines(), current.splitlines(), "committed", "now", lineterm="", n=1
    )
    assert current == committed, (
        f"The public surface of {name} has changed. If that is meant, run `make openapi` and commit "
        f"{path.relative_to(SNAPSHOTS.parents[2])}.\n" + "\n".join(list(changes)[:60])
    )
    assert "127.0.0.1" not in current
    assert str(SNAPSHOTS.parents[2]) not in current


def test_each_snapshot_belongs_to_an_existing_app() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*.json")} == set(APPS)


def shape(node: Any, schemas: dict[str, Any], left_out: set[str]) -> Any:
    """A schema with its references filled in and what is only words left out."""
    if isinstance(node, list):
        return [shape(each, schemas, left_out) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return shape(schemas[node["$ref"].rpartition("/")[2]], schemas, left_out)
    return {key: shape(value, schemas, left_out) for key, value in node.items() if key not in left_out}


def surface(described: dict[str, Any], path: str) -> tuple[Any, dict[str, Any]]:
    """The reply of a POST route, and the fields of its request."""
    schemas = described["components"]["schemas"]
    route = described["paths"][path]["post"]
    reply = shape(route["responses"]["200"]["content"]["application/json"]["schema"], schemas, WORDS)
    forms = route["requestBody"]["content"]
    content = forms.get("application/json") or next(iter(forms.values()))
    request = shape(content["schema"], schemas, WORDS | LIMITS)
    return reply, request["properties"]


@pytest.mark.parametrize("name", FAKED)
def test_a_fake_service_has_the_real_services_fields(name: str) -> None:
    committed = json.loads(snapshot_path(name).read_text(encoding="utf-8"))
    real_reply, real_fields = surface(committed, FAKED[name])
    fake_reply, fake_fields = surface(FakeServices().app().openapi(), FAKED[name])
    assert fake_reply == real_reply
    assert set(fake_fields) <= set(real_fields)
    for field, described in fake_fields.items():
        assert kinds(described) == kinds(real_fields[field]), field


def kinds(described: dict[str, Any]) -> Any:
    """What a field may hold, whether or not it may be left out."""
    options = described.get("anyOf", [described])
    return sorted(json.dumps(each, sort_keys=True) for each in options if each.get("type") != "null")
