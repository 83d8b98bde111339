"""One platform, told six times: in code, as images, to compose, Kubernetes, Prometheus, and on the cards."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.inventory import APPS, VLM_HOST
from gateway.clients.services import Services

ROOT = Path(__file__).resolve().parents[2]
APP_HOSTS = {app.host for app in APPS}
HOST_OF = {app.name: app.host for app in APPS}


def loaded(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


def folders_of_services() -> set[str]:
    """Those with an app; the VLM's folder has none of ours."""
    names = {path.parent.name for path in (ROOT / "services").glob("*/app.py")}
    return {HOST_OF.get(name, name) for name in names} | {"gateway"}


def locked_images() -> set[str]:
    """The apps among the images' requirements; tools beside them are nobody's service."""
    names = {path.stem for path in (ROOT / "requirements" / "images").glob("*.txt")}
    return {name for name in names if not name.endswith("-cuda")} - {"corpus", "corpus-ray", "weights"}


def composed(profile: str) -> set[str]:
    services = loaded("docker-compose.yml")["services"]
    run = {name for name, service in services.items() if profile in service.get("profiles", [])}
    others = {"tokens", "weights", "qdrant", "redis", "prometheus", "grafana"}
    return {name.removesuffix(f"-{profile}") for name in run} - others


def in_kubernetes() -> set[str]:
    """What the base, which both profiles share, is made of."""
    documents = [
        document
        for path in (ROOT / "k8s" / "base").glob("*.yaml")
        for document in yaml.safe_load_all(path.read_text())
        if document
    ]
    return {each["metadata"]["name"] for each in documents if each.get("kind") == "Service"}


def scraped() -> set[str]:
    jobs = loaded("deploy/prometheus/prometheus.yml")["scrape_configs"]
    return {job["job_name"] for job in jobs} - {"qdrant", "exporters"}


def placed() -> set[str]:
    """The gateway holds nothing of a card; its limits follow from the plan."""
    names = {path.stem for path in (ROOT / "deploy" / "placement" / "l40s").glob("*.env")}
    return {HOST_OF.get(name, name) for name in names}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (folders_of_services, APP_HOSTS),
        (locked_images, APP_HOSTS),
        (lambda: composed("pocket"), APP_HOSTS),
        (lambda: composed("l40s"), APP_HOSTS | {VLM_HOST}),
        (in_kubernetes, APP_HOSTS),
        (scraped, APP_HOSTS | {VLM_HOST}),
        (placed, APP_HOSTS | {VLM_HOST}),
    ],
    ids=["folders", "images", "compose pocket", "compose l40s", "kubernetes", "prometheus", "placement"],
)
def test_everything_that_runs_is_told_everywhere(told: Callable[[], set[str]], expected: set[str]) -> None:
    assert told() == expected


def test_the_gateway_calls_every_service_of_the_inventory() -> None:
    assert set(Services.names()) == {app.name for app in APPS} - {"gateway"}
