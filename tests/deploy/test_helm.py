"""The Helm chart, by Helm itself: it holds what kustomize renders, and its values change what they name."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.kustomize import K8S, NAMESPACE, Manifests, Object, main_container, overlay

helm = pytest.importorskip("helm_python", reason="helm-python-sdk has no wheel for this machine")
PROFILES = {"lite": "pocket", "l40s": "l40s"}
each_profile = pytest.mark.parametrize("profile", PROFILES)


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packaged chart's folder."""
    overlay("pocket")  # skips where kubectl is missing
    folder = tmp_path_factory.mktemp("helm") / "chart"
    subprocess.run([K8S / "helm/package.sh", folder], check=True)
    return folder


def rendered(chart: Path, values: dict[str, Any], namespace: str = NAMESPACE) -> Manifests:
    """What `helm install` would send to a cluster."""
    texts = helm.Chart.load(chart).render(values, name="loreglass", namespace=namespace, revision=1)
    files = [text for name, text in texts.items() if name.endswith(".yaml")]
    return Manifests(tuple(each for text in files for each in yaml.safe_load_all(text) if each))


@each_profile
def test_lint_has_no_findings(chart: Path, profile: str) -> None:
    report = helm.lint(chart, {"profile": profile}, strict=True)
    assert [each["error"] for each in report["messages"]] == ["icon is recommended"]


@each_profile
def test_objects_are_those_of_the_overlay(chart: Path, profile: str) -> None:
    def by_name(manifests: Manifests) -> dict[tuple[str, str], Object]:
        return {(each["kind"], each["metadata"]["name"]): each for each in manifests.objects}

    chart_objects = by_name(rendered(chart, {"profile": profile}))
    overlay_objects = by_name(overlay(PROFILES[profile]))
    assert chart_objects.pop(("Secret", "service-tokens"))
    del overlay_objects["Namespace", NAMESPACE]
    if job := overlay_objects.pop(("Job", "weights"), None):
        assert chart_objects.pop(("Job", "weights-1"))["spec"] == job["spec"]
    assert chart_objects == overlay_objects


def test_values_set_images_namespace_host_and_variables(chart: Path) -> None:
    manifests = rendered(
        chart,
        {
            "profile": "l40s",
            "images": {"registry": "ghcr.io/somebody/loreglass", "tag": "9.9.9"},
            "ingress": {"host": "ask.example.org", "className": "traefik", "annotations": {"a": "b"}},
            "settings": {"gateway": {"LOREGLASS_GATEWAY_RISK": "careful"}},
        },
        namespace="other",
    )
    assert {each["metadata"]["namespace"] for each in manifests.objects} == {"other"}
    gateway = main_container(manifests.workload("gateway"))
    assert gateway["image"] == "ghcr.io/somebody/loreglass/gateway:9.9.9"
    assert {"name": "LOREGLASS_GATEWAY_RISK", "value": "careful"} in gateway["env"]
    ingress = manifests.get("Ingress", "gateway")
    assert ingress["spec"]["rules"][0]["host"] == ingress["spec"]["tls"][0]["hosts"][0] == "ask.example.org"
    assert ingress["spec"]["ingressClassName"] == "traefik"
    assert ingress["metadata"]["annotations"] == {"a": "b"}
    assert not any("localhost/" in each["image"] for each in map(main_container, manifests.workloads()))


def test_a_setting_of_an_unknown_workload_is_refused(chart: Path) -> None:
    with pytest.raises(helm.HelmError, match=r"settings.gatewy: no such workload .* gateway"):
        rendered(chart, {"settings": {"gatewy": {"A": "b"}}})
