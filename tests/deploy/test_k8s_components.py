"""What a cluster adds to an overlay: one component for each choice, on top of all that the overlay has."""

import re
import shutil
from pathlib import Path

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from deploy.images.catalogue import REGISTRY
from gateway.settings import GatewaySettings
from tests.deploy.kustomize import (
    INDEX_JOB,
    K8S,
    NEWEST,
    OLDEST,
    Manifests,
    Object,
    build_own,
    composed,
    containers,
    overlay,
    pod,
    render,
)

COMPONENTS = K8S / "components"
CONTROLLERS = {"ingress-nginx": "nginx", "traefik": "traefik", "haproxy": "haproxy"}
BUILT_IN = {"hardened"}
"""Part of every overlay."""
NGINX = "nginx.ingress.kubernetes.io"
each_controller = pytest.mark.parametrize("controller", CONTROLLERS)


def _chosen() -> list[str]:
    folders = [path.parent.name for path in COMPONENTS.glob("*/kustomization.yaml")]
    return sorted(set(folders) - BUILT_IN)


@pytest.mark.parametrize("kubernetes", [OLDEST, NEWEST])
@pytest.mark.parametrize("component", _chosen())
def test_what_a_component_changes_is_as_its_schema_says(component: str, kubernetes: str) -> None:
    usual = overlay("l40s").objects
    changed = [each for each in composed("overlays/l40s", component).objects if each not in usual]
    assert changed
    for each in changed:
        kubernetes_validate.validate(dict(each), kubernetes, strict=True)
        assert each["metadata"]["namespace"] == "loreglass"


@pytest.mark.parametrize("component", _chosen())
def test_the_readme_names_each_component(component: str) -> None:
    assert f"`{component}`" in (K8S / "README.md").read_text()


def test_the_readmes_kustomization_can_be_built() -> None:
    [written] = re.findall(r"```yaml\n(.*?)```", (K8S / "README.md").read_text(), re.DOTALL)
    read, beside = yaml.safe_load(written), K8S / "overlays" / "mine"
    folders = {kind: [beside.joinpath(each) for each in read[kind]] for kind in ("resources", "components")}
    found = build_own({**read, **folders})
    [rule] = found.get("Ingress", "gateway")["spec"]["rules"]
    assert rule["host"] == "answers.example.org"
    assert found.names("Deployment") == overlay("l40s").names("Deployment")


def _ingress(*components: str) -> Object:
    return composed("overlays/l40s", *components).get("Ingress", "gateway")


@each_controller
def test_an_ingress_is_one_controllers_and_leads_where_it_led(controller: str) -> None:
    usual, found = overlay("l40s").get("Ingress", "gateway"), _ingress(controller)
    assert found["spec"] == {**usual["spec"], "ingressClassName": CONTROLLERS[controller]}


def test_nginx_takes_what_the_gateway_takes_and_waits_for_as_long() -> None:
    told, settings = _ingress("ingress-nginx")["metadata"]["annotations"], GatewaySettings()
    assert told[f"{NGINX}/proxy-body-size"] == f"{settings.max_body_bytes // 2**20}m"
    assert told[f"{NGINX}/proxy-buffering"] == "off"
    for way in ("read", "send"):
        assert int(told[f"{NGINX}/proxy-{way}-timeout"]) > _longest_s(settings)


def test_haproxy_waits_for_as_long_as_the_gateway() -> None:
    told = _ingress("haproxy")["metadata"]["annotations"]
    assert int(told["haproxy.org/timeout-server"].removesuffix("s")) > _longest_s(GatewaySettings())


def _longest_s(settings: GatewaySettings) -> float:
    assert settings.default_deadline_ms > settings.max_deadline_ms
    return settings.default_deadline_ms / 1000


def test_traefik_serves_it_by_tls_only_and_puts_nothing_between() -> None:
    """A middleware that buffers would limit bodies and hold a stream back; without one it does neither."""
    assert _ingress("traefik")["metadata"]["annotations"] == {
        "traefik.ingress.kubernetes.io/router.entrypoints": "websecure",
        "traefik.ingress.kubernetes.io/router.tls": "true",
    }


@each_controller
def test_cert_manager_goes_with_every_controller(controller: str) -> None:
    found, alone = _ingress(controller, "cert-manager"), _ingress(controller)
    added = found["metadata"]["annotations"].items() - alone["metadata"]["annotations"].items()
    assert added == {("cert-manager.io/cluster-issuer", "letsencrypt")}
    assert found["spec"]["tls"][0]["secretName"] == "gateway-tls"


@pytest.mark.parametrize("folder", ["overlays/pocket", "overlays/l40s", "overlays/scale-out", INDEX_JOB])
def test_two_lines_say_where_all_our_images_are_from_and_of_which_release(
    folder: str, tmp_path: Path
) -> None:
    own = tmp_path / "images"
    shutil.copytree(COMPONENTS / "images", own)
    (own / "images.env").write_text("registry=registry.example:5000/team\nrelease=0.2.0\n")
    usual, found = _images(render(folder)), _images(composed(folder, own))
    for before, after in zip(usual, found, strict=True):
        name = before.removeprefix(REGISTRY).partition(":")[0]
        ours = before.startswith(REGISTRY)
        assert after == (f"registry.example:5000/team/loreglass{name}:0.2.0" if ours else before)
    assert render(folder).names("ConfigMap") == composed(folder, own).names("ConfigMap")


def _images(manifests: Manifests) -> list[str]:
    return [container["image"] for workload in manifests.workloads() for container in containers(workload)]


@pytest.mark.parametrize("folder", ["overlays/scale-out", INDEX_JOB])
def test_every_pod_shows_the_registry_its_secret(folder: str) -> None:
    for workload in composed(folder, "pull-secret").workloads():
        assert pod(workload)["imagePullSecrets"] == [{"name": "registry"}]
    assert "create secret docker-registry registry " in (K8S / "README.md").read_text()
