"""Every app of the inventory is in code, images, compose, Kubernetes, Prometheus, dashboards and docs."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from deploy.inventory import APPS, VLM_HOST
from gateway.clients.services import Services
from tests.deploy.compose_file import ROOT, of_profile

HOSTS = {app.host for app in APPS}
HOST_OF = {app.name: app.host for app in APPS}
FOUNDATIONS = {"tokens", "weights", "qdrant", "redis", "prometheus", "grafana"}


def text(*names: str) -> str:
    return "".join(path.read_text() for name in names for path in sorted(ROOT.glob(name)))


def folders_of_services() -> set[str]:
    names = {path.parent.name for path in (ROOT / "services").glob("*/app.py")}
    return {HOST_OF.get(name, name) for name in names} | {"gateway"}


def locked_images() -> set[str]:
    names = {path.stem for path in (ROOT / "requirements" / "images").glob("*.txt")}
    return {name for name in names if not name.endswith("-cuda")} - {"corpus", "corpus-ray", "weights"}


def composed(profile: str) -> set[str]:
    return {name.removesuffix(f"-{profile}") for name in of_profile(profile)} - FOUNDATIONS


def in_kubernetes() -> set[str]:
    documents = yaml.safe_load_all(text("k8s/base/*.yaml").replace("\napiVersion", "\n---\napiVersion"))
    return {each["metadata"]["name"] for each in documents if each and each.get("kind") == "Service"}


def scraped() -> set[str]:
    jobs = yaml.safe_load(text("deploy/prometheus/prometheus.yml"))["scrape_configs"]
    return {job["job_name"] for job in jobs} - {"qdrant", "exporters"}


def missed_when_absent() -> set[str]:
    rules = text("deploy/prometheus/rules/*.yml")
    return set(re.findall(r'absent\(up\{job="([\w-]+)"\}\)', rules)) - {"qdrant"}


def placed() -> set[str]:
    return {HOST_OF.get(path.stem, path.stem) for path in ROOT.glob("deploy/placement/l40s/*.env")}


def named_in(*pages: str) -> Callable[[], set[str]]:
    """The apps that these files name, by host or by package."""
    return lambda: {app.host for app in APPS if re.search(rf"\b({app.host}|{app.name})\b", text(*pages))}


def with_a_page() -> set[str]:
    return {app.host for app in APPS[1:] if Path(ROOT / "services" / app.name / "README.md").exists()}


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        pytest.param(folders_of_services, HOSTS, id="folders"),
        pytest.param(locked_images, HOSTS, id="locks of images"),
        pytest.param(named_in("docker-bake.hcl"), HOSTS, id="docker-bake.hcl"),
        pytest.param(named_in("deploy/images/build.sh"), HOSTS, id="build.sh"),
        pytest.param(lambda: composed("pocket"), HOSTS, id="compose pocket"),
        pytest.param(lambda: composed("l40s"), HOSTS | {VLM_HOST}, id="compose l40s"),
        pytest.param(in_kubernetes, HOSTS, id="kubernetes"),
        pytest.param(scraped, HOSTS | {VLM_HOST}, id="prometheus"),
        pytest.param(missed_when_absent, HOSTS | {VLM_HOST}, id="alerts"),
        pytest.param(placed, HOSTS | {VLM_HOST}, id="placement"),
        pytest.param(named_in("deploy/grafana/dashboards/*.json"), HOSTS, id="dashboards"),
        pytest.param(named_in("docs/engines.md", "docs/tour.md"), HOSTS, id="docs"),
        pytest.param(with_a_page, HOSTS - {"gateway"}, id="pages of services"),
        pytest.param(lambda: {HOST_OF[name] for name in Services.names()}, HOSTS - {"gateway"}, id="gateway"),
    ],
)
def test_every_app_is_everywhere(hosts: Callable[[], set[str]], expected: set[str]) -> None:
    assert hosts() == expected
