"""The manifests for GPUs follow the placement plan; the rest is what compose and Prometheus have, too."""

import re
import shlex

import pytest
import yaml

from capacity.environment import environment
from capacity.node_file import read
from capacity.proposal import propose
from deploy.inventory import APPS, VLM_HOST, VLM_PORT
from deploy.weights.__main__ import vlm as vlm_weights
from gateway.settings import GatewaySettings
from services.vlm.launch import Placement, serve_arguments
from services.vlm.presets import PRESETS
from tests.deploy.compose_file import read_env
from tests.deploy.kustomize import (
    K8S,
    NAME_LABEL,
    ROOT,
    Manifests,
    Object,
    composed,
    containers,
    main_container,
    overlay,
    pod,
    render,
)

PLACEMENT = ROOT / "deploy" / "placement"
WEIGHTS = read_env(ROOT / "deploy" / "weights" / "weights.env")
GPU_HOSTS = {app.host for app in APPS if app.cuda_group}
SHARED, WHOLE = "nvidia.com/gpu.shared", "nvidia.com/gpu"
ON_GPUS = ("l40s", "scale-out")
on_gpus = pytest.mark.parametrize("name", ON_GPUS)


def _cards(workload: Object) -> dict[str, str]:
    limits = main_container(workload)["resources"]["limits"]
    return {resource: count for resource, count in limits.items() if resource.startswith("nvidia.com")}


def _planned_for(cards: int, sequences: int, preset: str | None = None) -> dict[str, dict[str, str]]:
    file = read(PLACEMENT / "l40s.yaml", cards=cards, preset=preset, sequences=sequences)
    return environment(propose(file, cards, GatewaySettings.model_fields["answer_deadline_ms"].default))


def test_one_card_gets_what_the_plan_wrote() -> None:
    manifests = overlay("l40s")
    own = {"domain-router": {"LOREGLASS_DOMAIN_ROUTER_ENGINE": "builtin"}}  # until there is a head
    for host in [*(app.host for app in APPS), VLM_HOST]:
        planned = read_env(PLACEMENT / "l40s" / f"{host.replace('-', '_')}.env") | own.get(host, {})
        given = manifests.variables(host)
        assert planned.items() <= given.items(), host


def test_a_card_for_the_model_server_is_what_the_plan_for_two_cards_says() -> None:
    """Each container sees one card, so that it is card 0 in there, and the gateway compares with that."""
    _follows(overlay("scale-out"), _planned_for(2, 12))


def test_qwen_is_sized_by_the_plan_for_one_card_and_served_by_a_vllm_that_fetches_nothing() -> None:
    manifests = composed("overlays/l40s", "qwen")
    preset = PRESETS[manifests.variables(VLM_HOST)["LOREGLASS_VLM_PRESET"]]
    assert preset.name.startswith("qwen")
    _follows(manifests, _planned_for(1, 21, preset.name))
    assert tuple(map(int, preset.version.split("."))) > (0, 11)
    assert "--allowed-media-domains" in main_container(manifests.workload(VLM_HOST))["args"]


@on_gpus
def test_one_address_has_all_where_all_callers_come_through_an_ingress(name: str) -> None:
    manifests = overlay(name)
    assert manifests.get("Ingress", "gateway")
    assert manifests.variables("gateway")["LOREGLASS_GATEWAY_MAX_SHARE_PER_ADDRESS"] == "1"


def _follows(manifests: Manifests, planned: dict[str, dict[str, str]]) -> None:
    for name, variables in planned.items():
        given = manifests.variables(name.replace("_", "-"))
        for variable, value in variables.items():
            if variable == "LOREGLASS_DOMAIN_ROUTER_ENGINE":
                continue
            on_card_0 = value.replace("cuda:1", "cuda:0").replace('"gpu":1', '"gpu":0')
            assert given[variable] == on_card_0, variable


@on_gpus
def test_services_find_their_weights(name: str) -> None:
    for app in APPS:
        if not app.cuda_group:
            continue
        given = overlay(name).variables(app.host)
        wanted = {variable: value for variable, value in WEIGHTS.items() if variable.startswith(app.prefix)}
        assert wanted
        assert wanted.items() <= given.items()
        assert given["HF_HUB_OFFLINE"] == "1"
        assert {"name": "weights", "mountPath": "/weights", "readOnly": True} in main_container(
            overlay(name).workload(app.host)
        )["volumeMounts"]


@on_gpus
@pytest.mark.parametrize("components", [(), ("qwen",)], ids=["llama", "qwen"])
def test_the_model_server_is_started_as_its_preset_says(name: str, components: tuple[str, ...]) -> None:
    manifests = composed(f"overlays/{name}", *components)
    container, given = main_container(manifests.workload(VLM_HOST)), manifests.variables(VLM_HOST)
    preset = PRESETS[given["LOREGLASS_VLM_PRESET"]]
    placement = Placement(
        host="0.0.0.0",
        port=VLM_PORT,
        weights=f"/weights/{vlm_weights(preset.name).name}",
        memory_share=float(given["LOREGLASS_VLM_MEMORY_SHARE"]),
        context=int(given["LOREGLASS_VLM_MAX_MODEL_LEN"]),
        sequences=int(given["LOREGLASS_VLM_MAX_NUM_SEQS"]),
    )
    assert container["image"] == preset.image
    assert container["command"] == ["vllm", "serve"]
    expanded = [re.sub(r"\$\((\w+)\)", lambda found: given[found[1]], word) for word in container["args"]]
    assert expanded == serve_arguments(preset, placement)
    assert dict(preset.environment).items() <= given.items()
    assert manifests.variables("gateway")["LOREGLASS_GATEWAY_VLM_MODEL"] == preset.name
    assert manifests.variables("weights")["LOREGLASS_VLM_PRESET"] == preset.name


@on_gpus
def test_what_needs_a_card_may_run_on_nodes_that_are_kept_for_cards(name: str) -> None:
    """The job that fetches weights, too: on one node the volume is where the cards are."""
    tolerant = {each["metadata"]["name"] for each in overlay(name).workloads() if _tolerates_cards(each)}
    assert tolerant == {*GPU_HOSTS, VLM_HOST, "weights"}


def _tolerates_cards(workload: Object) -> bool:
    """As the taint that cloud providers and NVIDIA's operator put on such nodes, whatever its effect."""
    return {"key": WHOLE, "operator": "Exists"} in pod(workload).get("tolerations", [])


def test_one_card_has_a_slice_for_each_of_seven_and_for_a_voice() -> None:
    manifests = composed("overlays/l40s", "voice-l40s")
    sharing = {each["metadata"]["name"]: _cards(each) for each in manifests.workloads() if _cards(each)}
    assert sharing == {host: {SHARED: "1"} for host in (*GPU_HOSTS, VLM_HOST, "stt", "tts")}
    without = {each["metadata"]["name"] for each in overlay("l40s").workloads() if _cards(each)}
    assert without == {*GPU_HOSTS, VLM_HOST}
    for host in sharing:
        assert pod(manifests.workload(host))["nodeSelector"] == {"loreglass/placement": "l40s"}
    sliced = yaml.safe_load((K8S / "nvidia" / "time-slicing.yaml").read_text())
    slicing = yaml.safe_load(sliced["data"]["shared"])["sharing"]["timeSlicing"]
    assert slicing["renameByDefault"]
    assert slicing["resources"] == [{"name": WHOLE, "replicas": len(sharing)}]


def test_on_several_nodes_the_model_server_has_a_card_and_no_two_of_a_kind_share_one() -> None:
    manifests = overlay("scale-out")
    assert _cards(manifests.workload(VLM_HOST)) == {WHOLE: "1"}
    for host in GPU_HOSTS:
        workload = manifests.workload(host)
        assert _cards(workload) == {SHARED: "1"}
        assert workload["spec"]["replicas"] >= 2
        assert not pod(workload).get("nodeSelector")
        [rule] = pod(workload)["affinity"]["podAntiAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        assert rule["topologyKey"] == "kubernetes.io/hostname"
        assert rule["matchLabelKeys"] == ["app.kubernetes.io/name"]


def test_on_one_card_the_model_server_starts_alone() -> None:
    manifests = overlay("l40s")
    assert manifests.get("Service", "vlm-ready")["spec"]["clusterIP"] == "None"
    assert "publishNotReadyAddresses" not in manifests.get("Service", "vlm-ready")["spec"]
    for host in GPU_HOSTS:
        first, _ = containers(manifests.workload(host))
        assert "getent hosts vlm-ready" in first["args"][0]


@on_gpus
def test_each_waits_for_its_own_weights_by_the_tool_that_fetches_them(name: str) -> None:
    """Each folder has a marker of its own, so that another preset is waited for and fetched."""
    manifests = overlay(name)
    job = main_container(manifests.workload("weights"))
    assert not job.keys() & {"command", "args"}, "the image's own: everything, and the preset's"
    for host in GPU_HOSTS:
        first, _ = containers(manifests.workload(host))
        assert first["image"] == job["image"]
        assert 'python -m deploy.weights --wait --only "$APP"' in first["args"][0]
        [app] = first["env"]
        assert app["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{NAME_LABEL}']"
    first, _ = containers(manifests.workload(VLM_HOST))
    assert first["image"] == job["image"]
    assert first["args"] == ["--wait", "--only", VLM_HOST]
    assert first["envFrom"] == job["envFrom"]


def test_what_scales_is_counted_by_one_only() -> None:
    manifests = overlay("scale-out")
    targets = []
    for each in manifests.of_kind("ScaledObject", "HorizontalPodAutoscaler"):
        target = each["spec"]["scaleTargetRef"]
        workload = manifests.get(target.get("kind", "Deployment"), target["name"])
        assert "replicas" not in workload["spec"], "an apply would set the count back"
        targets.append(target["name"])
    assert sorted(targets) == ["gateway", "ocr", "verifier", "vlm"]
    gateway, vlm = ({**manifests.get("ScaledObject", name)["spec"]} for name in ("gateway", "vlm"))
    gateway.pop("scaleTargetRef"), vlm.pop("scaleTargetRef")
    assert gateway == vlm, "a gateway for each model server"
    told = manifests.variables("gateway")
    assert told["LOREGLASS_GATEWAY_GATEWAYS"] == str(gateway["maxReplicaCount"]), "that share Redis"


def test_custom_objects_hold_what_their_definition_asks_for() -> None:
    """KEDA's definition is not among Kubernetes' schemas: this is the part of it that is used."""
    for each in overlay("scale-out").of_kind("ScaledObject"):
        assert each["apiVersion"] == "keda.sh/v1alpha1"
        spec = each["spec"]
        assert set(spec) == {
            "scaleTargetRef",
            "minReplicaCount",
            "maxReplicaCount",
            "pollingInterval",
            "fallback",
            "advanced",
            "triggers",
        }
        for trigger in spec["triggers"]:
            assert trigger["type"] == "prometheus"
            assert trigger["metricType"] in ("AverageValue", "Value")
            assert set(trigger["metadata"]) == {"serverAddress", "query", "threshold"}
            assert float(trigger["metadata"]["threshold"]) > 0
        assert "AverageValue" in {trigger["metricType"] for trigger in spec["triggers"]}
        assert spec["advanced"].keys() == {"horizontalPodAutoscalerConfig"}


def test_what_is_scaled_by_is_measured() -> None:
    source = "".join(path.read_text() for path in (ROOT / "gateway").rglob("*.py"))
    for each in overlay("scale-out").of_kind("ScaledObject"):
        for trigger in each["spec"]["triggers"]:
            for metric in re.findall(r"loreglass_\w+", trigger["metadata"]["query"]):
                assert f'"{metric}"' in source or f'"{metric.removesuffix("_total")}"' in source, metric
            assert trigger["metadata"]["serverAddress"] == "http://prometheus.loreglass.svc:9090"
    [port] = overlay("scale-out").get("Service", "prometheus")["spec"]["ports"]
    assert port["port"] == 9090


def test_qdrants_peers_find_the_first_and_keep_two_of_everything() -> None:
    manifests = overlay("scale-out")
    qdrant, given = manifests.workload("qdrant"), manifests.variables("qdrant")
    peers = manifests.get("Service", qdrant["spec"]["serviceName"])["spec"]
    assert peers["clusterIP"] == "None"
    assert peers["publishNotReadyAddresses"]
    assert qdrant["spec"]["replicas"] == 3
    assert given["QDRANT__CLUSTER__ENABLED"] == "true"
    assert given["QDRANT__STORAGE__COLLECTION__REPLICATION_FACTOR"] == "2"
    words = shlex.split(main_container(qdrant)["args"][0])
    assert "first=http://qdrant-0.qdrant-peers:6335" in words


def test_every_pod_is_scraped_under_the_names_that_rules_and_dashboards_use() -> None:
    manifests = overlay("scale-out")
    usual = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())
    own = yaml.safe_load((K8S / "overlays/scale-out/prometheus.yml").read_text())
    (*apps, exporters), (*own_apps, own_exporters) = (each.pop("scrape_configs") for each in (usual, own))
    of_usual = {each["job_name"]: each["static_configs"] for each in apps}
    of_own = {each["job_name"]: each["dns_sd_configs"] for each in own_apps}
    assert (own, own_exporters) == (usual, exporters)
    assert of_own.keys() == of_usual.keys()
    for job, [found] in of_own.items():
        [host] = found["names"]
        service = manifests.get("Service", host)["spec"]
        assert service["clusterIP"] == "None"
        assert service["selector"] == {"app.kubernetes.io/name": job}
        assert of_usual[job] == [{"targets": [f"{job}:{found['port']}"]}]


@on_gpus
def test_images_of_others_are_those_of_compose(name: str) -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for workload in overlay(name).workloads():
        image = main_container(workload)["image"]
        if not image.startswith("localhost/loreglass"):
            host = workload["metadata"]["name"].removesuffix("-replica")
            assert image == compose[host]["image"]


def test_an_index_is_made_by_the_command_that_people_use() -> None:
    manifests = render("jobs/index")
    given = manifests.variables("corpus")
    ports = {app.host: app.port for app in APPS}
    assert given["LOREGLASS_IMAGE_SEARCH_URL"] == f"http://image-search:{ports['image-search']}"
    assert given["LOREGLASS_TEXT_SEARCH_URL"] == f"http://text-search:{ports['text-search']}"
    assert "python -m clients index $what" in main_container(manifests.workload("corpus"))["args"][0]
