"""The manifests in k8s/ say what the apps are, and a cluster would take them."""

import re
from collections.abc import Iterator, Mapping

import kubernetes_validate  # type: ignore[import-untyped]
import pytest

from chassis.settings import DRAIN_S
from deploy.images.catalogue import IMAGES
from deploy.inventory import APPS, VLM_HOST, VLM_PORT, App
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
    containers,
    label_selector_matches,
    labels,
    main_container,
    overlay,
    pod,
    render,
)

CUSTOM = ("ScaledObject",)
PINNED = re.compile(r"docker\.io/[a-z0-9/-]+:v?\d+\.\d+\.\d+(-[a-z0-9]+)?")
IDS = [app.host for app in APPS]
EVERYTHING = [*(f"overlays/{name}" for name in OVERLAYS), INDEX_JOB]

every_app = pytest.mark.parametrize("app", APPS, ids=IDS)
every_overlay = pytest.mark.parametrize("name", OVERLAYS)
every_folder = pytest.mark.parametrize("folder", EVERYTHING)


@pytest.mark.parametrize(
    ("folder", "kubernetes"), [*((folder, OLDEST) for folder in EVERYTHING), ("overlays/scale-out", NEWEST)]
)
def test_every_object_is_as_its_schema_says(folder: str, kubernetes: str) -> None:
    manifests = render(folder)
    for each in manifests.objects:
        if each["kind"] not in CUSTOM:
            kubernetes_validate.validate(dict(each), kubernetes, strict=True)
    named = [(each["kind"], each["metadata"]["name"]) for each in manifests.objects]
    assert len(set(named)) == len(named)
    for each in manifests.objects:
        assert each["kind"] == "Namespace" or each["metadata"]["namespace"] == NAMESPACE, each["metadata"]


@every_overlay
@every_app
def test_an_app_has_what_it_needs_to_run_and_be_reached(name: str, app: App) -> None:
    manifests = overlay(name)
    workload = manifests.workload(app.host)
    assert workload["kind"] == ("StatefulSet" if app.keeps_data else "Deployment")
    carried = labels(workload)
    [port] = [each for each in main_container(workload)["ports"] if each["name"] == "http"]
    assert port["containerPort"] == app.port
    service = manifests.get("Service", app.host)["spec"]
    assert [(each["port"], each["targetPort"]) for each in service["ports"]] == [(app.port, "http")]
    assert service["selector"].items() <= carried.items()
    budget = manifests.get("PodDisruptionBudget", app.host)["spec"]
    assert budget["maxUnavailable"] == 1
    assert label_selector_matches(budget["selector"], carried)
    policy = manifests.get("NetworkPolicy", app.host)["spec"]
    assert label_selector_matches(policy["podSelector"], carried)


@every_overlay
@every_app
def test_an_app_runs_its_image_of_this_version(name: str, app: App) -> None:
    by_name = {image.name: image.reference for image in IMAGES}
    cuda = bool(app.cuda_group) and name != "pocket"
    container = main_container(overlay(name).workload(app.host))
    assert container["image"] == by_name[f"{app.host}-cuda" if cuda else app.host]
    assert "command" not in container
    assert "args" not in container


@every_folder
def test_every_image_is_of_a_release_and_names_its_registry(folder: str) -> None:
    """A short name is looked for wherever a node's configuration says, and might be somebody else's there."""
    ours = {image.reference for image in IMAGES}
    for workload in render(folder).workloads():
        for container in containers(workload):
            image = container["image"]
            assert image in ours or PINNED.fullmatch(image), image


@every_overlay
@every_app
def test_an_app_is_asked_for_its_health(name: str, app: App) -> None:
    container = main_container(overlay(name).workload(app.host))
    live = {"path": "/health/live", "port": "http"}
    assert container["livenessProbe"]["httpGet"] == live
    if app.name == "gateway":
        assert "/opt/health.py" in container["startupProbe"]["exec"]["command"][-1]
        assert container["readinessProbe"]["httpGet"] == live
    else:
        ready = {"path": "/health/ready", "port": "http"}
        assert container["startupProbe"]["httpGet"] == ready
        assert container["readinessProbe"]["httpGet"] == ready
        patience = (
            container["readinessProbe"]["failureThreshold"] * container["readinessProbe"]["periodSeconds"]
        )
        assert patience >= 60, "a burst fills its queue, and must not take the service from everybody"


@every_overlay
@every_app
def test_every_variable_is_a_setting_that_the_app_accepts(
    name: str, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = overlay(name).variables(app.host)
    elsewhere = [other.prefix for other in APPS if other is not app] + ["HF_HUB_OFFLINE"]
    for variable, value in given.items():
        if variable.startswith(app.prefix):
            assert variable.removeprefix(app.prefix).lower() in app.settings.model_fields, variable
        else:
            assert variable.startswith(tuple(elsewhere)), variable
        monkeypatch.setenv(variable, value)
    app.settings()


@every_overlay
def test_the_gateway_asks_services_at_their_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    manifests = overlay(name)
    for variable, value in manifests.variables("gateway").items():
        monkeypatch.setenv(variable, value)
    settings = GatewaySettings()
    for app in APPS:
        if app.name != "gateway":
            assert getattr(settings, f"{app.name}_url") == f"http://{app.host}:{app.port}"
    if name != "pocket":
        assert settings.vlm_url == f"http://{VLM_HOST}:{VLM_PORT}"
        assert settings.redis_url == "redis://redis:6379/0"
        assert settings.keys is not None
        mounts = main_container(manifests.workload("gateway"))["volumeMounts"]
        assert str(settings.keys.parent) in {mount["mountPath"] for mount in mounts}


@every_folder
def test_selectors_take_the_pods_that_they_are_for(folder: str) -> None:
    manifests = render(folder)
    carried = [labels(each) for each in manifests.workloads()]
    for workload in manifests.of_kind("Deployment", "StatefulSet"):
        chosen = [each for each in carried if label_selector_matches(workload["spec"]["selector"], each)]
        assert chosen == [labels(workload)]
    for service in manifests.of_kind("Service"):
        assert any(service["spec"]["selector"].items() <= each.items() for each in carried)
    for policy in manifests.of_kind("NetworkPolicy"):
        assert any(label_selector_matches(policy["spec"]["podSelector"], each) for each in carried)
    for stateful in manifests.of_kind("StatefulSet"):
        assert stateful["spec"]["serviceName"] in manifests.names("Service")


def _secret_keys(container: Object) -> dict[str, Object]:
    """Each variable that comes from a secret, and from which."""
    from_elsewhere = {each["name"]: each.get("valueFrom", {}) for each in container.get("env", [])}
    return {name: each["secretKeyRef"] for name, each in from_elsewhere.items() if "secretKeyRef" in each}


@pytest.mark.parametrize("folder", [*(f"overlays/{name}" for name in OVERLAYS), "jobs/index"])
def test_no_service_starts_without_tokens_and_the_gateway_never_holds_the_one_that_writes(
    folder: str,
) -> None:
    read = {"LOREGLASS_SERVICE_TOKEN": {"name": "service-tokens", "key": "read"}}
    write = {"LOREGLASS_SERVICE_WRITE_TOKEN": {"name": "service-tokens", "key": "write"}}
    holds = {app.host: read | write for app in APPS} | {"gateway": read, "corpus": write}
    for workload in render(folder).workloads():
        found = [_secret_keys(container) for container in containers(workload)]
        tokens = {name: each for held in found for name, each in held.items() if name.endswith("_TOKEN")}
        assert tokens == holds.get(labels(workload)["app.kubernetes.io/name"], {})
    made = " ".join(f'--from-literal={key}="$(openssl rand -hex 32)"' for key in ("read", "write"))
    assert f"create secret generic service-tokens {made}\n" in (K8S / "README.md").read_text()


def _references(workload: Object) -> Iterator[tuple[str, str, bool]]:
    """What it wants to be there: kind, name, whether it can do without."""
    templates = {each["metadata"]["name"] for each in workload["spec"].get("volumeClaimTemplates", [])}
    volumes = {each["name"]: each for each in pod(workload).get("volumes", [])}
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


@every_folder
def test_what_a_pod_refers_to_is_there_or_the_readme_says_how_to_make_it(folder: str) -> None:
    manifests = render(folder)
    readme = (K8S / "README.md").read_text()
    assert not manifests.of_kind("Secret")
    for workload in manifests.workloads():
        for kind, wanted, optional in _references(workload):
            if kind == "Secret":
                assert f"create secret generic {wanted} " in readme, wanted
            else:
                assert optional or wanted in manifests.names(kind), wanted
        for volume in pod(workload).get("volumes", []):
            keys = {item["key"] for item in volume.get("configMap", {}).get("items", [])}
            if keys:
                assert keys <= manifests.get("ConfigMap", volume["configMap"]["name"])["data"].keys()


@every_folder
def test_no_pod_may_do_more_than_it_must(folder: str) -> None:
    for workload in render(folder).workloads():
        spec = pod(workload)
        assert spec["automountServiceAccountToken"] is False
        assert spec["enableServiceLinks"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] > 0
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}
        kinds = {kind for volume in spec["volumes"] for kind in volume.keys() - {"name"}}
        assert kinds <= {"emptyDir", "configMap", "secret", "persistentVolumeClaim"}
        for container in containers(workload):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "hostPort" not in str(container.get("ports"))


def test_the_namespace_refuses_pods_that_want_more() -> None:
    carried = overlay("pocket").get("Namespace", "loreglass")["metadata"]["labels"]
    assert carried["pod-security.kubernetes.io/enforce"] == "restricted"


@every_folder
def test_every_container_says_what_it_takes(folder: str) -> None:
    """No limit of processor time: held back, an answer would be late on an idle node."""
    for workload in render(folder).workloads():
        for container in containers(workload):
            asked, most = container["resources"]["requests"], container["resources"]["limits"]
            assert asked.keys() == {"cpu", "memory"}
            assert "memory" in most
            assert "cpu" not in most
        for volume in pod(workload)["volumes"]:
            assert "emptyDir" not in volume or volume["emptyDir"]["sizeLimit"], volume


@every_overlay
def test_only_the_gateway_is_shown_to_the_world_and_only_what_callers_need_of_it(name: str) -> None:
    manifests = overlay(name)
    assert {each["spec"].get("type", "ClusterIP") for each in manifests.of_kind("Service")} == {"ClusterIP"}
    ingresses = manifests.of_kind("Ingress")
    assert len(ingresses) == (0 if name == "pocket" else 1)
    for ingress in ingresses:
        [tls] = ingress["spec"]["tls"]
        assert f"create secret tls {tls['secretName']} " in (K8S / "README.md").read_text()
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
def test_an_update_of_the_gateway_ends_nobodys_question(name: str) -> None:
    gateway = overlay(name).workload("gateway")
    assert gateway["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    wait = main_container(gateway)["lifecycle"]["preStop"]["sleep"]["seconds"]
    longest = GatewaySettings().max_deadline_ms / 1000
    assert longest < wait < pod(gateway)["terminationGracePeriodSeconds"] - DRAIN_S


@every_overlay
@every_app
def test_nobody_waits_where_there_is_room_for_two_and_nobody_is_doubled_where_there_is_not(
    name: str, app: App
) -> None:
    workload = overlay(name).workload(app.host)
    if workload["kind"] == "StatefulSet":
        return  # one goes before the next comes, by itself
    strategy = workload["spec"]["strategy"]
    on_card = bool(app.cuda_group) and name != "pocket"
    if on_card:
        assert strategy["type"] == "Recreate" or strategy["rollingUpdate"]["maxSurge"] == 0
    else:
        assert strategy["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}


@every_overlay
def test_a_name_label_names_one_workload(name: str) -> None:
    carried = [labels(each)[NAME_LABEL] for each in overlay(name).workloads()]
    assert len(set(carried)) == len(carried)
    assert carried == [each["metadata"]["name"] for each in overlay(name).workloads()]


@pytest.mark.parametrize("name", ["l40s", "scale-out"])
def test_the_job_that_fetches_weights_stays_and_gitops_tools_may_replace_it(name: str) -> None:
    """One that went when it was done they would make again, and a change of one that is there is refused."""
    job = overlay(name).get("Job", "weights")
    assert "ttlSecondsAfterFinished" not in job["spec"]
    assert job["metadata"]["annotations"] == {
        "argocd.argoproj.io/sync-options": "Force=true,Replace=true",
        "kustomize.toolkit.fluxcd.io/force": "enabled",
    }
    assert "delete job weights --ignore-not-found" in (K8S / "README.md").read_text()


def test_the_job_that_people_start_is_gone_in_a_day() -> None:
    assert render(INDEX_JOB).get("Job", "index")["spec"]["ttlSecondsAfterFinished"] == 86_400


def test_manifests_of_nothing_are_noticed() -> None:
    """The tests above go through what they find: there must be something."""
    found: Manifests = overlay("scale-out")
    assert len(found.workloads()) >= len(APPS) + 6
