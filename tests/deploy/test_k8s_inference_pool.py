"""Model servers behind an endpoint picker: the component fits together, and its projects' schemas."""

import re
from typing import Any

import jsonschema
import pytest
import yaml

from deploy.inventory import VLM_HOST, VLM_PORT
from gateway.settings import GatewaySettings
from tests.deploy.kustomize import (
    K8S,
    NAMESPACE,
    Manifests,
    Party,
    composed,
    label_selector_matches,
    labels,
    main_container,
    overlay,
    parties,
    pod,
)
from tests.deploy.network_policies import allowed

PICKER, ROUTER = "vlm-picker", "vlm-router"
PICKING, METRICS = 9002, 9090
ROUTER_POD = Party(ROUTER, {"gateway.networking.k8s.io/gateway-name": ROUTER})
"""As the Gateway API has a controller label what it makes (GEP-1762)."""
CONTROLLER = Party("its controller", {}, namespace="agentgateway-system")
OUTSIDE = Party("outside", {}, namespace="", address="203.0.113.7")


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    properties = required | (optional or {})
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1, "maxItems": most}


NAME = {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"}
WORD = {"type": "string", "pattern": "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"}
PORT = {"type": "integer", "minimum": 1, "maximum": 65535}
REFERENCE = _object({"group": NAME, "kind": WORD, "name": NAME})
SPECS = {
    ("inference.networking.k8s.io/v1", "InferencePool"): _object(
        {
            "selector": _object({"matchLabels": {"type": "object", "minProperties": 1}}),
            "targetPorts": _list(_object({"number": PORT}), 8),
            "endpointPickerRef": _object(
                {"name": NAME, "port": _object({"number": PORT})},
                {"group": NAME, "kind": WORD, "failureMode": {"enum": ["FailOpen", "FailClose"]}},
            ),
        }
    ),
    ("gateway.networking.k8s.io/v1", "Gateway"): _object(
        {
            "gatewayClassName": NAME,
            "listeners": _list(
                _object(
                    {"name": NAME, "port": PORT, "protocol": {"const": "HTTP"}},
                    {
                        "allowedRoutes": _object(
                            {"namespaces": _object({"from": {"enum": ["All", "Selector", "Same"]}})}
                        )
                    },
                ),
                64,
            ),
        },
        {"infrastructure": _object({"parametersRef": REFERENCE})},
    ),
    ("gateway.networking.k8s.io/v1", "HTTPRoute"): _object(
        {
            "parentRefs": _list(_object({"name": NAME}), 32),
            "rules": _list(
                _object(
                    {"backendRefs": _list(REFERENCE, 16)},
                    {"timeouts": _object({"request": {"pattern": "^([0-9]{1,5}(h|m|s|ms)){1,4}$"}})},
                ),
                16,
            ),
        }
    ),
}
"""The parts that are used of gateway-api-inference-extension 1.5's and gateway-api 1.5's definitions,
which are not among Kubernetes' schemas. What is not used here is not allowed here."""
PLUGINS = {
    "mm-embeddings-cache-producer",
    "mm-embeddings-cache-scorer",
    "prefix-cache-scorer",
    "queue-scorer",
    "kv-cache-utilization-scorer",
    "max-score-picker",
    "single-profile-handler",
}
"""Of llm-d's router 0.10."""


@pytest.fixture(scope="module")
def manifests() -> Manifests:
    return composed("overlays/scale-out", "inference-pool")


def test_the_objects_are_as_their_projects_define_them(manifests: Manifests) -> None:
    for (version, kind), schema in SPECS.items():
        [found] = manifests.of_kind(kind)
        assert found["apiVersion"] == version
        jsonschema.validate(found["spec"], schema)


def test_the_pool_is_the_model_servers_where_they_listen(manifests: Manifests) -> None:
    pool = manifests.get("InferencePool", VLM_HOST)["spec"]
    members = [
        each for each in manifests.workloads() if label_selector_matches(pool["selector"], labels(each))
    ]
    assert members == [manifests.workload(VLM_HOST)]
    [port] = main_container(members[0])["ports"]
    assert pool["targetPorts"] == [{"number": port["containerPort"]}]


def test_the_pool_the_route_and_the_picker_name_each_other(manifests: Manifests) -> None:
    [pool], [route] = manifests.of_kind("InferencePool"), manifests.of_kind("HTTPRoute")
    reference = pool["spec"]["endpointPickerRef"]
    [port] = manifests.get("Service", reference["name"])["spec"]["ports"]
    assert port["port"] == reference["port"]["number"] == PICKING
    [rule] = route["spec"]["rules"]
    [backend] = rule["backendRefs"]
    assert manifests.get(backend["kind"], backend["name"]) == pool
    assert pool["apiVersion"].partition("/")[0] == backend["group"]
    arguments = main_container(manifests.workload(PICKER))["args"]
    assert f"--pool-name={pool['metadata']['name']}" in arguments
    assert f"--pool-namespace={NAMESPACE}" in arguments
    assert f"--pool-group={backend['group']}" in arguments


def test_the_gateway_asks_where_the_route_begins_and_the_route_waits_for_as_long(
    manifests: Manifests,
) -> None:
    [entry], [route] = manifests.of_kind("Gateway"), manifests.of_kind("HTTPRoute")
    assert route["spec"]["parentRefs"] == [{"name": entry["metadata"]["name"]}]
    [listener] = entry["spec"]["listeners"]
    url = manifests.variables("gateway")["LOREGLASS_GATEWAY_VLM_URL"]
    assert url == f"http://{entry['metadata']['name']}:{listener['port']}"
    [rule] = route["spec"]["rules"]
    assert int(rule["timeouts"]["request"].removesuffix("s")) * 1000 > GatewaySettings().default_deadline_ms


def test_every_plugin_of_a_profile_is_configured_and_known(manifests: Manifests) -> None:
    [volume] = [each for each in pod(manifests.workload(PICKER))["volumes"] if each["name"] == "config"]
    written = manifests.get("ConfigMap", volume["configMap"]["name"])["data"]
    container = main_container(manifests.workload(PICKER))
    [path] = re.findall(r"--config-file=(\S+)", " ".join(container["args"]))
    [mount] = [each for each in container["volumeMounts"] if each["name"] == "config"]
    read = yaml.safe_load(written[path.removeprefix(f"{mount['mountPath']}/")])
    assert (read["apiVersion"], read["kind"]) == ("llm-d.ai/v1alpha1", "EndpointPickerConfig")
    configured = {each["type"] for each in read["plugins"]}
    assert configured == PLUGINS
    [profile] = read["schedulingProfiles"]
    weights = {each["pluginRef"]: each.get("weight") for each in profile["plugins"]}
    assert weights.keys() <= configured
    assert {name for name in configured if name.endswith("-scorer")} == {
        name for name, weight in weights.items() if weight
    }


def test_a_server_with_the_photo_and_the_prompt_goes_before_an_idle_one() -> None:
    read = yaml.safe_load((K8S / "components/inference-pool/plugins.yaml").read_text())
    weights = {each["pluginRef"]: each.get("weight", 0) for each in read["schedulingProfiles"][0]["plugins"]}
    kept = weights["mm-embeddings-cache-scorer"] + weights["prefix-cache-scorer"]
    assert kept > weights["queue-scorer"] + weights["kv-cache-utilization-scorer"]


def test_only_the_picker_talks_to_the_api_server_and_it_only_reads(manifests: Manifests) -> None:
    for workload in manifests.workloads():
        picks = workload["metadata"]["name"] == PICKER
        assert pod(workload)["automountServiceAccountToken"] is picks
    [role], [binding] = manifests.of_kind("Role"), manifests.of_kind("RoleBinding")
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert "secrets" not in str(role["rules"])
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    [subject] = binding["subjects"]
    assert subject == {"kind": "ServiceAccount", "name": PICKER, "namespace": NAMESPACE}
    assert pod(manifests.workload(PICKER))["serviceAccountName"] == PICKER


def test_the_router_and_the_picker_reach_what_they_must_and_nothing_else(manifests: Manifests) -> None:
    policies = manifests.of_kind("NetworkPolicy")
    everybody = [*parties(manifests), ROUTER_POD, OUTSIDE]
    ports = (VLM_PORT, PICKING, METRICS)
    new = {ROUTER, PICKER}
    ways = {
        (one.name, other.name, port)
        for one in everybody
        for other in everybody
        for port in ports
        if {one.name, other.name} & new and allowed(policies, one, other, port)
    }
    assert ways == {
        ("gateway", ROUTER, VLM_PORT),
        (ROUTER, VLM_HOST, VLM_PORT),
        (ROUTER, PICKER, PICKING),
        (PICKER, VLM_HOST, VLM_PORT),
    }
    [picker] = [each for each in everybody if each.name == PICKER]
    assert allowed(policies, picker, OUTSIDE, 443), "the API server, wherever it is"
    assert not allowed(policies, ROUTER_POD, OUTSIDE, 443)
    assert allowed(policies, ROUTER_POD, CONTROLLER, 9978)


def test_the_proxys_service_is_no_load_balancer(manifests: Manifests) -> None:
    [entry], [given] = manifests.of_kind("Gateway"), manifests.of_kind("AgentgatewayParameters")
    reference = entry["spec"]["infrastructure"]["parametersRef"]
    assert (reference["kind"], reference["name"]) == (given["kind"], given["metadata"]["name"])
    assert given["apiVersion"].partition("/")[0] == reference["group"]
    assert given["spec"]["service"] == {"spec": {"type": "ClusterIP"}}


def test_without_the_component_the_plain_service_is_asked() -> None:
    plain = overlay("scale-out")
    assert plain.variables("gateway")["LOREGLASS_GATEWAY_VLM_URL"] == f"http://{VLM_HOST}:{VLM_PORT}"
    assert not plain.of_kind("InferencePool", "HTTPRoute")
