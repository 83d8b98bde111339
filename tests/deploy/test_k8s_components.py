"""What a cluster adds to an overlay: one component for each choice, on top of all that the overlay has."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from deploy.images.catalogue import REGISTRY
from gateway.settings import GatewaySettings
from tests.deploy.kustomize import (
    INDEX_JOB,
    K8S,
    NAME_LABEL,
    NAMESPACE,
    NEWEST,
    OLDEST,
    OVERLAYS,
    ROOT,
    Manifests,
    Object,
    Party,
    build_own,
    composed,
    containers,
    label_selector_matches,
    labels,
    main_container,
    overlay,
    parties,
    pod,
    render,
)
from tests.deploy.network_policies import allowed

COMPONENTS = K8S / "components"
CONTROLLERS = {"ingress-nginx": "nginx", "traefik": "traefik", "haproxy": "haproxy"}
BUILT_IN = {"hardened"}
"""Part of every overlay."""
CUSTOM = {"PodMonitor", "ScaledObject", "InferencePool", "Gateway", "HTTPRoute", "AgentgatewayParameters"}
"""Their definitions are not among Kubernetes' schemas; tests of their own hold them."""
RULES = ROOT / "deploy" / "prometheus" / "rules"
CONFIG = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
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
        if each["kind"] not in CUSTOM:
            kubernetes_validate.validate(dict(each), kubernetes, strict=True)
        assert each["metadata"]["namespace"] == "loreglass"


@pytest.mark.parametrize("name", OVERLAYS)
@each_controller
def test_components_go_together_on_every_overlay(name: str, controller: str) -> None:
    others = set(CONTROLLERS) - {controller} | {"openshift"} | ({"qwen"} if name == "pocket" else set())
    others |= {"voice"} if name == "l40s" else {"voice-l40s"}  # which is the same on its card
    others |= set() if name == "scale-out" else {"inference-pool"}
    added = {"stt", "tts"} | ({"vlm-picker"} if name == "scale-out" else set())
    found = composed(f"overlays/{name}", *(each for each in _chosen() if each not in others))
    usual = overlay(name)
    assert {each["metadata"]["name"] for each in usual.workloads()} | added == {
        each["metadata"]["name"] for each in found.workloads()
    }
    for each in found.objects:
        if each["kind"] not in CUSTOM:
            kubernetes_validate.validate(dict(each), OLDEST, strict=True)


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


def test_openshifts_dns_is_reached_where_it_listens_and_only_there() -> None:
    manifests = composed("overlays/l40s", "openshift")
    policies = manifests.of_kind("NetworkPolicy")
    names = Party("dns-default", {"dns.operator.openshift.io/daemonset-dns": "default"}, "openshift-dns")
    for sender in parties(manifests):
        for protocol in ("UDP", "TCP"):
            assert allowed(policies, sender, names, 5353, protocol), sender.name
            assert not allowed(policies, sender, names, 8080, protocol), sender.name
    told = manifests.get("Ingress", "gateway")["metadata"]["annotations"]
    assert int(told["haproxy.router.openshift.io/timeout"].removesuffix("s")) > _longest_s(GatewaySettings())


def test_on_openshift_pods_may_be_the_users_that_they_name_and_nobody_may_be_root() -> None:
    manifests = composed("overlays/l40s", "openshift")
    [binding] = manifests.of_kind("RoleBinding")
    assert binding["roleRef"]["name"] == "system:openshift:scc:nonroot-v2"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "default", "namespace": NAMESPACE}]
    assert not any("serviceAccountName" in pod(each) for each in manifests.workloads())


@pytest.mark.parametrize("folder", ["overlays/l40s", "overlays/scale-out"])
def test_whoever_writes_to_a_volume_has_its_group(folder: str) -> None:
    for workload in render(folder).workloads():
        claims = [each for each in pod(workload).get("volumes", []) if "persistentVolumeClaim" in each]
        if claims or workload["spec"].get("volumeClaimTemplates"):
            context = pod(workload)["securityContext"]
            assert context["fsGroup"] == context["runAsGroup"], workload["metadata"]["name"]
            assert context["fsGroupChangePolicy"] == "OnRootMismatch"


def test_the_operator_measures_every_pod_under_the_usual_names() -> None:
    """Its definitions are not among Kubernetes' schemas: this is the part of them that is used."""
    manifests = composed("overlays/scale-out", "prometheus-operator")
    [monitor] = manifests.of_kind("PodMonitor")
    assert set(monitor["spec"]) == {"jobLabel", "selector", "podMetricsEndpoints"}
    assert monitor["spec"]["jobLabel"] == NAME_LABEL
    own = [each for each in CONFIG["scrape_configs"] if "file_sd_configs" not in each]  # not exporters
    jobs = {each["job_name"] for each in own}
    measured = [
        each
        for each in manifests.workloads()
        if label_selector_matches(monitor["spec"]["selector"], labels(each))
    ]
    assert {labels(each)[NAME_LABEL] for each in measured} == jobs
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint == {
        "port": "http",
        "interval": CONFIG["global"]["scrape_interval"],
        "scrapeTimeout": CONFIG["global"]["scrape_timeout"],
    }
    for each in measured:
        assert "http" in {port["name"] for port in main_container(each)["ports"]}


def test_the_operators_prometheus_is_let_in_to_what_it_measures_and_its_neighbours_are_not() -> None:
    manifests = composed("overlays/scale-out", "prometheus-operator")
    policies = manifests.of_kind("NetworkPolicy")
    asks = Party("prometheus", {NAME_LABEL: "prometheus"}, namespace="monitoring")
    neighbour = Party("grafana", {NAME_LABEL: "grafana"}, namespace="monitoring")
    jobs = {each["job_name"] for each in CONFIG["scrape_configs"]}
    for each in parties(manifests):
        for port in main_container(manifests.workload(each.name)).get("ports", []):
            measured = each.name in jobs and port["name"] == "http"
            assert allowed(policies, asks, each, port["containerPort"]) == measured, (each.name, port)
    [vlm] = [each for each in parties(manifests) if each.name == "vlm"]
    assert not allowed(policies, neighbour, vlm, 8000)


def test_the_operators_rules_are_prometheus_own() -> None:
    command = [sys.executable, "-m", "deploy.prometheus_rule"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = yaml.safe_load(said)
    assert (found["apiVersion"], found["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert found["metadata"] == {"name": "loreglass", "namespace": NAMESPACE}
    usual = [yaml.safe_load(path.read_text())["groups"] for path in sorted(RULES.glob("*.yml"))]
    assert found["spec"] == {"groups": [group for groups in usual for group in groups]}
    for group in found["spec"]["groups"]:
        assert group.keys() <= {"name", "interval", "rules"}
        for rule in group["rules"]:
            assert rule.keys() <= {
                "alert",
                "record",
                "expr",
                "for",
                "labels",
                "annotations",
                "keep_firing_for",
            }
