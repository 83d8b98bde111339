"""Who may reach whom in the cluster: exactly those who must."""

import pytest

from deploy.inventory import APPS, VLM_HOST, VLM_PORT
from tests.deploy.kustomize import INDEX_JOB, OVERLAYS, Manifests, Party, open_ports, overlay, parties, render
from tests.deploy.network_policies import allowed

PORTS = {app.host: app.port for app in APPS}
MODELS = [app.host for app in APPS if app.name != "gateway"]
KEEPERS = [app.host for app in APPS if app.keeps_data]
QDRANT, P2P, REDIS, PROMETHEUS = 6333, 6335, 6379, 9090
Way = tuple[str, str, int]

OUTSIDE = Party("caller", {}, namespace="", address="203.0.113.7")
PRIVATE = Party("the node's network", {}, namespace="", address="10.0.0.1")
METADATA = Party("the cloud's metadata", {}, namespace="", address="169.254.169.254")
NAMES = Party("kube-dns", {"k8s-app": "kube-dns"}, namespace="kube-system")
STRANGER = Party("somebody else's pod", {"app.kubernetes.io/name": "gateway"}, namespace="other")
KEDA = Party("keda", {}, namespace="keda")


def _pocket() -> set[Way]:
    asked = {("gateway", host, PORTS[host]) for host in MODELS}
    return asked | {("corpus", host, PORTS[host]) for host in KEEPERS}


def _l40s() -> set[Way]:
    return _pocket() | {
        ("gateway", VLM_HOST, VLM_PORT),
        ("gateway", "redis", REDIS),
        *((host, "qdrant", QDRANT) for host in KEEPERS),
        ("grafana", "prometheus", PROMETHEUS),
        *(("prometheus", host, port) for host, port in PORTS.items()),
        ("prometheus", VLM_HOST, VLM_PORT),
        ("prometheus", "qdrant", QDRANT),
    }


def _scale_out() -> set[Way]:
    copies = {"redis", "redis-replica"}
    among_themselves = {(one, other, REDIS) for one in copies for other in copies}
    return _l40s() | among_themselves | {("qdrant", "qdrant", P2P), ("gateway", "redis-replica", REDIS)}


INTENDED = {"pocket": _pocket, "l40s": _l40s, "scale-out": _scale_out}


def _with_index_job(name: str) -> list[Manifests]:
    return [overlay(name), render(INDEX_JOB)]


@pytest.mark.parametrize("name", OVERLAYS)
def test_pods_reach_each_other_where_they_must_and_nowhere_else(name: str) -> None:
    manifests = _with_index_job(name)
    policies = [policy for each in manifests for policy in each.of_kind("NetworkPolicy")]
    pods = parties(*manifests)
    ports = open_ports(manifests) | {22, 53, 80, 443, QDRANT, P2P, REDIS}
    found = {
        (sender.name, receiver.name, port)
        for sender in pods
        for receiver in pods
        for port in ports
        if allowed(policies, sender, receiver, port)
    }
    # The gateway is the door: whoever may send anything on its port may send it there.
    door = {way for way in found if way[1:] == ("gateway", PORTS["gateway"]) and way[0] != "prometheus"}
    assert not door
    assert found == INTENDED[name]()


@pytest.mark.parametrize("name", OVERLAYS)
def test_only_the_gateway_is_reached_from_elsewhere(name: str) -> None:
    manifests = _with_index_job(name)
    policies = [policy for each in manifests for policy in each.of_kind("NetworkPolicy")]
    ports = open_ports(manifests) | {22, 80, 443}
    for sender in (OUTSIDE, STRANGER):
        found = {
            (pod.name, port)
            for pod in parties(*manifests)
            for port in ports
            if allowed(policies, sender, pod, port)
        }
        assert found == {("gateway", PORTS["gateway"])}, sender.name


@pytest.mark.parametrize("name", OVERLAYS)
def test_only_the_job_that_fetches_weights_reaches_the_internet(name: str) -> None:
    manifests = _with_index_job(name)
    policies = [policy for each in manifests for policy in each.of_kind("NetworkPolicy")]
    pods = parties(*manifests)
    ports = (22, 53, 80, 443, 8080, QDRANT, REDIS)
    assert {pod.name for pod in pods for port in ports if allowed(policies, pod, OUTSIDE, port)} <= {
        "weights"
    }
    if name != "pocket":
        [weights] = [pod for pod in pods if pod.name == "weights"]
        assert allowed(policies, weights, OUTSIDE, 443)
        assert not allowed(policies, weights, OUTSIDE, 80)
    for elsewhere in (PRIVATE, METADATA):
        assert not [pod.name for pod in pods if allowed(policies, pod, elsewhere, 443)]


@pytest.mark.parametrize("name", ["l40s", "scale-out"])
def test_the_model_server_hears_the_gateway_and_prometheus_and_speaks_to_nobody(name: str) -> None:
    """A vLLM with known holes (SECURITY.md). Looking up names is all that it may begin."""
    manifests = _with_index_job(name)
    policies = [policy for each in manifests for policy in each.of_kind("NetworkPolicy")]
    pods = parties(*manifests)
    [vlm] = [pod for pod in pods if pod.name == VLM_HOST]
    everybody = [*pods, OUTSIDE, PRIVATE, METADATA, STRANGER, KEDA, NAMES]
    ports = open_ports(manifests) | {22, 53, 80, 443, P2P}
    heard = {each.name for each in everybody for port in ports if allowed(policies, each, vlm, port)}
    told = {(each.name, port) for each in everybody for port in ports if allowed(policies, vlm, each, port)}
    assert heard == {"gateway", "prometheus"}
    assert told == {(NAMES.name, 53)}


@pytest.mark.parametrize("name", OVERLAYS)
def test_everybody_can_look_up_names(name: str) -> None:
    manifests = _with_index_job(name)
    policies = [policy for each in manifests for policy in each.of_kind("NetworkPolicy")]
    for pod in parties(*manifests):
        assert allowed(policies, pod, NAMES, 53, "UDP"), pod.name
        assert allowed(policies, pod, NAMES, 53, "TCP"), pod.name
        assert not allowed(policies, pod, NAMES, 443), pod.name


def test_who_scales_asks_prometheus_and_nobody_else() -> None:
    manifests = overlay("scale-out")
    policies = manifests.of_kind("NetworkPolicy")
    ports = open_ports([manifests])
    found = {
        (pod.name, port) for pod in parties(manifests) for port in ports if allowed(policies, KEDA, pod, port)
    }
    assert found == {("prometheus", PROMETHEUS), ("gateway", PORTS["gateway"])}


def test_without_a_policy_everything_is_open() -> None:
    """The evaluator itself: were the selectors wrong, nothing would be found to be forbidden."""
    manifests = overlay("l40s")
    pods = parties(manifests)
    assert all(allowed([], sender, receiver, 22) for sender in pods for receiver in pods)
    only_in = [
        policy
        for policy in manifests.of_kind("NetworkPolicy")
        if policy["metadata"]["name"] != "nothing-else"
    ]
    [vlm] = [pod for pod in pods if pod.name == "vlm"]
    assert allowed(only_in, vlm, OUTSIDE, 22) is False  # `names` closes the way out, too
    assert not allowed(only_in, OUTSIDE, vlm, VLM_PORT)
