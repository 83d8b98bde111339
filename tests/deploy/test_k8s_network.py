"""Network policies: each pod reaches the pods that it needs and no other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from deploy.inventory import APPS, VLM_HOST, VLM_PORT
from tests.deploy.kustomize import (
    INDEX_JOB,
    NAME_LABEL,
    NAMESPACE,
    OVERLAYS,
    Object,
    label_selector_matches,
    labels,
    main_container,
    overlay,
    render,
)


@dataclass(frozen=True, slots=True)
class Party:
    """A pod, or an address outside the cluster."""

    name: str
    labels: Mapping[str, str]
    namespace: str = NAMESPACE
    address: str = ""


def allowed(
    policies: Sequence[Object], sender: Party, receiver: Party, port: int, protocol: str = "TCP"
) -> bool:
    """Whether `sender` can open a connection to `port` of `receiver`."""
    out = _passes(policies, sender, receiver, port, protocol, "Egress", "to")
    return out and _passes(policies, receiver, sender, port, protocol, "Ingress", "from")


def _passes(
    policies: Sequence[Object], own: Party, other: Party, port: int, protocol: str, direction: str, peers: str
) -> bool:
    selecting = [each["spec"] for each in policies if _selects(each["spec"], own, direction)]
    if not selecting:
        return True
    rules = [rule for spec in selecting for rule in spec.get(direction.lower(), [])]
    return any(
        (peers not in rule or any(_is_peer(peer, other) for peer in rule[peers]))
        and ("ports" not in rule or any(_is_port(each, port, protocol) for each in rule["ports"]))
        for rule in rules
    )


def _selects(spec: Object, own: Party, direction: str) -> bool:
    if own.namespace != NAMESPACE or own.address:
        return False
    return direction in spec["policyTypes"] and label_selector_matches(spec["podSelector"], own.labels)


def _is_peer(peer: Object, other: Party) -> bool:
    if "ipBlock" in peer:
        return bool(other.address) and _in_block(peer["ipBlock"], other.address)
    if other.address:
        return False
    if "namespaceSelector" in peer:
        known_as = {"kubernetes.io/metadata.name": other.namespace}
        if not label_selector_matches(peer["namespaceSelector"], known_as):
            return False
    elif other.namespace != NAMESPACE:
        return False
    return label_selector_matches(peer.get("podSelector", {}), other.labels)


def _in_block(block: Any, address: str) -> bool:
    given = ip_address(address)
    inside = given in ip_network(block["cidr"])
    return inside and not any(given in ip_network(each) for each in block.get("except", []))


def _is_port(rule: Object, port: int, protocol: str) -> bool:
    if rule.get("protocol", "TCP") != protocol:
        return False
    if "port" not in rule:
        return True
    return int(rule["port"]) <= port <= int(rule.get("endPort", rule["port"]))


PORTS = {app.host: app.port for app in APPS}
MODELS = [app.host for app in APPS if app.name != "gateway"]
KEEPERS = [app.host for app in APPS if app.keeps_data]
QDRANT, P2P, REDIS, PROMETHEUS = 6333, 6335, 6379, 9090
Way = tuple[str, str, int]

OUTSIDE = Party("caller", {}, namespace="", address="203.0.113.7")
PRIVATE = Party("the node's network", {}, namespace="", address="10.0.0.1")
METADATA = Party("the cloud's metadata", {}, namespace="", address="169.254.169.254")
NAMES = Party("kube-dns", {"k8s-app": "kube-dns"}, namespace="kube-system")
FOREIGN_POD = Party("a foreign pod", {"app.kubernetes.io/name": "gateway"}, namespace="other")
KEDA = Party("keda", {}, namespace="keda")


POCKET: set[Way] = {
    *(("gateway", host, PORTS[host]) for host in MODELS),
    *(("corpus", host, PORTS[host]) for host in KEEPERS),
}
L40S = POCKET | {
    ("gateway", VLM_HOST, VLM_PORT),
    ("gateway", "redis", REDIS),
    *((host, "qdrant", QDRANT) for host in KEEPERS),
    ("grafana", "prometheus", PROMETHEUS),
    *(("prometheus", host, port) for host, port in PORTS.items()),
    ("prometheus", VLM_HOST, VLM_PORT),
    ("prometheus", "qdrant", QDRANT),
    ("weights", OUTSIDE.name, 443),
}
SCALE_OUT = L40S | {
    *((one, other, REDIS) for one in ("redis", "redis-replica") for other in ("redis", "redis-replica")),
    ("qdrant", "qdrant", P2P),
    ("gateway", "redis-replica", REDIS),
}
INTENDED = {"pocket": POCKET, "l40s": L40S, "scale-out": SCALE_OUT}


@dataclass(frozen=True)
class Network:
    """The pods of an overlay and of the indexing job, with the policies between them."""

    name: str
    policies: list[Object]
    pods: list[Party]
    ports: set[int]

    def ways(self, senders: Iterable[Party], receivers: Iterable[Party]) -> set[Way]:
        """Return who can open a connection to whom, on which TCP port."""
        receivers = list(receivers)
        return {
            (sender.name, receiver.name, port)
            for sender in senders
            for receiver in receivers
            for port in self.ports
            if allowed(self.policies, sender, receiver, port)
        }


@pytest.fixture(params=OVERLAYS)
def network(request: pytest.FixtureRequest) -> Network:
    manifests = [overlay(request.param), render(INDEX_JOB)]
    policies = [policy for each in manifests for policy in each.of_kind("NetworkPolicy")]
    workloads = [workload for each in manifests for workload in each.workloads()]
    named = [port for each in workloads for port in main_container(each).get("ports", [])]
    ports = {port["containerPort"] for port in named} | {22, 53, 80, 443, 8080, QDRANT, P2P, REDIS}
    pods = [Party(labels(each)[NAME_LABEL], labels(each)) for each in workloads]
    return Network(request.param, policies, pods, ports)


def test_network_policies_allow_only_intended_connections(network: Network) -> None:
    outsiders = [OUTSIDE, PRIVATE, METADATA, FOREIGN_POD]
    assert network.ways(network.pods, [*network.pods, *outsiders]) == INTENDED[network.name]


def test_every_pod_can_resolve_names(network: Network) -> None:
    assert network.ways(network.pods, [NAMES]) == {(pod.name, NAMES.name, 53) for pod in network.pods}
    assert all(allowed(network.policies, pod, NAMES, 53, "UDP") for pod in network.pods)


def test_external_pods_reach_only_gateway_and_prometheus(network: Network) -> None:
    senders = [OUTSIDE, FOREIGN_POD, KEDA]
    expected = {(each.name, "gateway", PORTS["gateway"]) for each in senders}
    if network.name == "scale-out":
        expected.add((KEDA.name, "prometheus", PROMETHEUS))
    assert network.ways(senders, network.pods) == expected


def test_all_connections_are_open_without_policies(network: Network) -> None:
    """Check the evaluator: a selector that matches nothing would forbid nothing."""
    assert all(allowed([], one, other, 22) for one in network.pods for other in network.pods)
