"""A cluster takes the manifests, their pods are confined, and apps accept the settings that they get."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from chassis.settings import DRAIN_S
from deploy.inventory import APPS, App
from gateway.app import create_app
from gateway.settings import GatewaySettings
from tests.deploy.kustomize import (
    INDEX_JOB,
    K8S,
    NAME_LABEL,
    NAMESPACE,
    NEWEST,
    OLDEST,
    OVERLAYS,
    Manifests,
    Object,
    build_own,
    composed,
    containers,
    label_selector_matches,
    labels,
    main_container,
    overlay,
    pod,
    render,
)

CUSTOM = {
    *("PodMonitor", "ScaledObject", "RayJob"),
    *("InferencePool", "Gateway", "HTTPRoute", "AgentgatewayParameters"),
}
"""Their definitions are not among Kubernetes' schemas."""
PINNED = re.compile(r"[a-z.]+/[a-z0-9/-]+:v?\d+\.\d+\.\d+(-[\w.-]+)?(@sha256:[0-9a-f]{64})?")
COMPONENTS = {path.parent.name for path in K8S.glob("components/*/kustomization.yaml")}
BUILDS = [
    *((f"overlays/{name}",) for name in OVERLAYS),
    (INDEX_JOB,),
    ("jobs/index-ray",),
    ("overlays/pocket", "voice"),
    ("overlays/l40s", "qwen", "voice-l40s", "haproxy", "pull-secret", "hardened"),
    ("overlays/l40s", "ingress-nginx"),
    ("overlays/l40s", "openshift"),
    (
        "overlays/scale-out",
        *("images", "traefik", "cert-manager", "voice", "inference-pool", "prometheus-operator"),
    ),
]
each_build = pytest.mark.parametrize("build", BUILDS, ids=" ".join)
every_overlay = pytest.mark.parametrize("name", OVERLAYS)
every_app = pytest.mark.parametrize("app", APPS, ids=lambda app: str(app.host))


@pytest.mark.parametrize("kubernetes", [OLDEST, NEWEST])
@each_build
def test_every_object_matches_its_schema(build: tuple[str, ...], kubernetes: str) -> None:
    manifests = composed(*build)
    for each in manifests.objects:
        if each["kind"] not in CUSTOM:
            _validate(json.dumps(each), kubernetes)
        assert each["kind"] == "Namespace" or each["metadata"]["namespace"] == NAMESPACE, each["metadata"]
    for group in _ray_groups(manifests):
        pods = {"apiVersion": "v1", "kind": "Pod", **group["template"]}
        pods["metadata"] = {"name": "any", **pods["metadata"]}
        _validate(json.dumps(pods), kubernetes)
    named = [(each["kind"], each["metadata"]["name"]) for each in manifests.objects]
    assert len(set(named)) == len(named)


@cache
def _validate(thing: str, kubernetes: str) -> None:
    """Hold an object against its schema, once however many builds have it."""
    kubernetes_validate.validate(json.loads(thing), kubernetes, strict=True)


def _ray_groups(manifests: Manifests) -> list[Object]:
    clusters = [each["spec"]["rayClusterSpec"] for each in manifests.of_kind("RayJob")]
    return [group for each in clusters for group in (each["headGroupSpec"], *each["workerGroupSpecs"])]


def test_every_component_is_built() -> None:
    assert {name for _, *parts in BUILDS for name in parts} == COMPONENTS


@each_build
def test_pods_have_least_privilege_and_resource_requests(build: tuple[str, ...]) -> None:
    """There is no limit of processor time: held back, an answer would be late on an idle node."""
    manifests = composed(*build)
    specs = {each["metadata"]["name"]: pod(each) for each in manifests.workloads()}
    specs |= {f"ray {number}": each["template"]["spec"] for number, each in enumerate(_ray_groups(manifests))}
    assert specs
    for name, spec in specs.items():
        assert spec["automountServiceAccountToken"] is (name == "vlm-picker")  # it watches pods
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] > 0
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}
        kinds = {kind for volume in spec["volumes"] for kind in volume.keys() - {"name"}}
        assert kinds <= {"emptyDir", "configMap", "secret", "persistentVolumeClaim"}
        assert all(each["emptyDir"]["sizeLimit"] for each in spec["volumes"] if "emptyDir" in each)
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            held = container["securityContext"]
            assert held["allowPrivilegeEscalation"] is False
            assert held["readOnlyRootFilesystem"] is True
            assert held["capabilities"] == {"drop": ["ALL"]}
            requests, most = container["resources"]["requests"], container["resources"]["limits"]
            assert requests.keys() >= {"cpu", "memory"}
            assert "memory" in most
            assert "cpu" not in most or name.startswith("ray")


@each_build
def test_selectors_match_their_pods(build: tuple[str, ...]) -> None:
    manifests = composed(*build)
    carried = [labels(each) for each in manifests.workloads()]
    for workload in manifests.of_kind("Deployment", "StatefulSet"):
        chosen = [each for each in carried if label_selector_matches(workload["spec"]["selector"], each)]
        assert chosen == [labels(workload)]
    for service in manifests.of_kind("Service"):
        assert any(service["spec"]["selector"].items() <= each.items() for each in carried)
    for choosing in manifests.of_kind("PodDisruptionBudget", "InferencePool"):
        assert any(label_selector_matches(choosing["spec"]["selector"], each) for each in carried)
    for stateful in manifests.of_kind("StatefulSet"):
        assert stateful["spec"]["serviceName"] in manifests.names("Service")
    names = [labels(each)[NAME_LABEL] for each in manifests.workloads()]
    assert len(set(names)) == len(names)


def _secret_keys(container: Object) -> dict[str, Object]:
    """Each variable that comes from a secret, and from which."""
    from_elsewhere = {each["name"]: each.get("valueFrom", {}) for each in container.get("env", [])}
    return {name: each["secretKeyRef"] for name, each in from_elsewhere.items() if "secretKeyRef" in each}


def _references(workload: Object) -> Iterator[tuple[str, str, bool]]:
    """What it wants to be there: kind, name, whether it can do without."""
    volumes = {each["name"]: each for each in pod(workload).get("volumes", [])}
    templates = {each["metadata"]["name"] for each in workload["spec"].get("volumeClaimTemplates", [])}
    for container in containers(workload):
        for source in container.get("envFrom", []):
            wanted = source["configMapRef"]
            yield "ConfigMap", wanted["name"], wanted.get("optional", False)
        for wanted in _secret_keys(container).values():
            yield "Secret", wanted["name"], wanted.get("optional", False)
        for mount in container.get("volumeMounts", []):
            assert mount["name"] in volumes.keys() | templates, mount
    for volume in volumes.values():
        if "configMap" in volume:
            yield "ConfigMap", volume["configMap"]["name"], volume["configMap"].get("optional", False)
        if "persistentVolumeClaim" in volume:
            yield "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"], False
        if "secret" in volume:
            yield "Secret", volume["secret"]["secretName"], False


@each_build
def test_references_of_pods_exist_or_are_in_the_readme(build: tuple[str, ...]) -> None:
    manifests, readme = composed(*build), (K8S / "README.md").read_text()
    assert not manifests.of_kind("Secret")
    for workload in manifests.workloads():
        for kind, wanted, optional in _references(workload):
            if kind == "Secret":
                assert optional or re.search(
                    rf"create secret \S+( \S+)? ?{wanted} |secret.*{wanted}", readme
                ), wanted
            else:
                assert optional or wanted in manifests.names(kind), wanted
        for volume in pod(workload).get("volumes", []):
            keys = {item["key"] for item in volume.get("configMap", {}).get("items", [])}
            if keys:
                assert keys <= manifests.get("ConfigMap", volume["configMap"]["name"])["data"].keys()


@every_overlay
@every_app
def test_an_app_accepts_its_variables_and_is_reached_where_it_listens(
    name: str, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifests = overlay(name)
    for variable, value in manifests.variables(app.host).items():
        if variable.startswith(app.prefix):
            assert variable.removeprefix(app.prefix).lower() in app.settings.model_fields, variable
        monkeypatch.setenv(variable, value)
    settings = app.settings()
    if isinstance(settings, GatewaySettings):
        for other in APPS[1:]:
            assert getattr(settings, f"{other.name}_url") == f"http://{other.host}:{other.port}"
    [port] = [
        each for each in main_container(manifests.workload(app.host))["ports"] if each["name"] == "http"
    ]
    assert port["containerPort"] == app.port
    [served] = manifests.get("Service", app.host)["spec"]["ports"]
    assert (served["port"], served["targetPort"]) == (app.port, "http")


@pytest.mark.parametrize("folder", [*(f"overlays/{name}" for name in OVERLAYS), INDEX_JOB])
def test_gateway_never_has_the_write_token(folder: str) -> None:
    read = {"LOREGLASS_SERVICE_TOKEN": {"name": "service-tokens", "key": "read"}}
    write = {"LOREGLASS_SERVICE_WRITE_TOKEN": {"name": "service-tokens", "key": "write"}}
    holds = {app.host: read | write for app in APPS} | {"gateway": read, "corpus": write}
    for workload in render(folder).workloads():
        results = [_secret_keys(container) for container in containers(workload)]
        tokens = {name: each for held in results for name, each in held.items() if name.endswith("_TOKEN")}
        assert tokens == holds.get(labels(workload)[NAME_LABEL], {})


@pytest.mark.parametrize("name", ["l40s", "scale-out"])
def test_ingress_exposes_only_the_gateways_public_routes(name: str) -> None:
    manifests = overlay(name)
    assert {each["spec"].get("type", "ClusterIP") for each in manifests.of_kind("Service")} == {"ClusterIP"}
    [ingress] = manifests.of_kind("Ingress")
    [rule] = ingress["spec"]["rules"]
    paths = rule["http"]["paths"]
    assert {each["backend"]["service"]["name"] for each in paths} == {"gateway"}
    routes = {*create_app(GatewaySettings()).openapi()["paths"], "/metrics"}
    hidden = {route for route in routes if not any(_leads_to(each, route) for each in paths)}
    assert hidden == {"/metrics", "/info", "/health/ready"}


def _leads_to(path: Mapping[str, str], route: str) -> bool:
    if path["pathType"] == "Exact":
        return route == path["path"]
    return route.startswith(path["path"])


@every_overlay
def test_gateway_update_lets_running_questions_finish(name: str) -> None:
    gateway = overlay(name).workload("gateway")
    assert gateway["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    wait = main_container(gateway)["lifecycle"]["preStop"]["sleep"]["seconds"]
    longest = GatewaySettings().max_deadline_ms / 1000
    assert longest < wait < pod(gateway)["terminationGracePeriodSeconds"] - DRAIN_S


@pytest.mark.parametrize("folder", ["overlays/scale-out", INDEX_JOB])
def test_image_registry_and_release_are_set_in_one_file(folder: str, tmp_path: Path) -> None:
    own = tmp_path / "images"
    shutil.copytree(K8S / "components/images", own)
    (own / "images.env").write_text("registry=registry.example:5000/team\nrelease=0.2.0\n")
    for before, after in zip(_images(render(folder)), _images(composed(folder, own)), strict=True):
        if before.startswith("localhost/loreglass/"):
            name = before.removeprefix("localhost/").partition(":")[0]
            assert after == f"registry.example:5000/team/{name}:0.2.0"
        else:
            assert PINNED.fullmatch(before)
            assert after == before


def _images(manifests: Manifests) -> list[str]:
    return [container["image"] for workload in manifests.workloads() for container in containers(workload)]


def test_the_readmes_kustomization_can_be_built() -> None:
    [written] = re.findall(r"```yaml\n(.*?)```", (K8S / "README.md").read_text(), re.DOTALL)
    read, beside = yaml.safe_load(written), K8S / "overlays" / "mine"
    folders = {kind: [beside.joinpath(each) for each in read[kind]] for kind in ("resources", "components")}
    [rule] = build_own({**read, **folders}).get("Ingress", "gateway")["spec"]["rules"]
    assert rule["host"] == "answers.example.org"
