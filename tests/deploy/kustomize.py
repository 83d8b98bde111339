"""The manifests as a cluster would get them, by kubectl's own kustomize, with what tests ask of them."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
K8S = ROOT / "k8s"
OVERLAYS = ("pocket", "l40s", "scale-out")
INDEX_JOB = "jobs/index"
OLDEST, NEWEST = "1.32", "1.37"
"""That the manifests are for, as README.md says; whose schemas are installed."""
NAMESPACE = "loreglass"
NAME_LABEL = "app.kubernetes.io/name"
WORKLOADS = ("Deployment", "StatefulSet", "Job")

_LEAST_KUSTOMIZE = (5, 0)  # patches by regular expressions of kinds, labels in templates

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Manifests:
    """What one overlay comes to."""

    objects: tuple[Object, ...]

    def of_kind(self, *kinds: str) -> list[Object]:
        """Those of these kinds."""
        return [each for each in self.objects if each["kind"] in kinds]

    def names(self, *kinds: str) -> set[str]:
        """What those of these kinds are called."""
        return {each["metadata"]["name"] for each in self.of_kind(*kinds)}

    def get(self, kind: str, name: str) -> Object:
        """The only one of that kind and name."""
        [result] = [each for each in self.of_kind(kind) if each["metadata"]["name"] == name]
        return result

    def workload(self, name: str) -> Object:
        """What runs the pods of that name."""
        [result] = [each for each in self.of_kind(*WORKLOADS) if labels(each).get(NAME_LABEL) == name]
        return result

    def workloads(self) -> list[Object]:
        """Everything that runs pods."""
        return self.of_kind(*WORKLOADS)

    def variables(self, name: str) -> dict[str, str]:
        """The environment of that workload's container, as Kubernetes puts it together."""
        container = main_container(self.workload(name))
        results: dict[str, str] = {}
        for source in container.get("envFrom", []):
            wanted = source["configMapRef"]
            if wanted["name"] in self.names("ConfigMap") or not wanted.get("optional", False):
                results |= self.get("ConfigMap", wanted["name"])["data"]
        return results | {each["name"]: each["value"] for each in container.get("env", []) if "value" in each}


@cache
def render(folder: str) -> Manifests:
    """`kubectl kustomize k8s/FOLDER`. Skips where kubectl is missing or too old for these files."""
    return _build(K8S / folder)


@cache
def composed(folder: str, *components: Path | str) -> Manifests:
    """A kustomization of somebody's own: `k8s/FOLDER` with these of `k8s/components`, or of their own."""
    if not components:
        return render(folder)
    parts = [K8S / "components" / each for each in components]
    return build_own({"resources": [K8S / folder], "components": parts})


def build_own(kustomization: Mapping[str, Any]) -> Manifests:
    """A kustomization whose `resources` and `components` are named by their folders, wherever those are."""
    with tempfile.TemporaryDirectory() as name:
        own = Path(name).resolve()
        folders = {
            kind: [os.path.relpath(folder.resolve(), own) for folder in kustomization[kind]]
            for kind in ("resources", "components")
        }
        (own / "kustomization.yaml").write_text(yaml.safe_dump({**kustomization, **folders}))
        return _build(own)


def _build(folder: Path) -> Manifests:
    _require_kubectl()
    command = ["kubectl", "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "deprecated" not in done.stderr, done.stderr
    # libyaml's: these tests take a sixth less time than with PyYAML's own
    return Manifests(tuple(yaml.load_all(done.stdout, Loader=yaml.CSafeLoader)))


@cache
def _kustomize_version() -> tuple[int, int] | None:
    if shutil.which("kubectl") is None:
        return None
    command = ["kubectl", "version", "--client", "--output=yaml"]
    report = yaml.safe_load(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    match = re.match(r"v(\d+)\.(\d+)", report.get("kustomizeVersion", ""))
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _require_kubectl() -> None:
    result = _kustomize_version()
    if result is None:
        pytest.skip("kubectl is not installed: it renders k8s/overlays")
    if result < _LEAST_KUSTOMIZE:
        pytest.skip(f"this kubectl has kustomize {result[0]}.{result[1]}; k8s/overlays want 5.0 or later")


def overlay(name: str) -> Manifests:
    """One of `OVERLAYS`."""
    return render(f"overlays/{name}")


def labels(workload: Object) -> Mapping[str, str]:
    """Of its pods."""
    result: Mapping[str, str] = workload["spec"]["template"]["metadata"]["labels"]
    return result


def pod(workload: Object) -> Object:
    """The spec of its pods."""
    result: Object = workload["spec"]["template"]["spec"]
    return result


def main_container(workload: Object) -> Object:
    """The one that does the work."""
    [result] = pod(workload)["containers"]
    return dict(result)


def containers(workload: Object) -> Iterator[Object]:
    """All of them."""
    yield from pod(workload).get("initContainers", [])
    yield main_container(workload)


def label_selector_matches(selector: Object, carried: Mapping[str, str]) -> bool:
    """As Kubernetes has it: everything that is said must hold, and an empty one takes all."""
    if any(carried.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    return all(_holds(each, carried) for each in selector.get("matchExpressions", []))


def _holds(expression: Object, carried: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values", [])
    outcomes = {
        "In": carried.get(key) in values,
        "NotIn": carried.get(key) not in values,
        "Exists": key in carried,
        "DoesNotExist": key not in carried,
    }
    return outcomes[expression["operator"]]


@dataclass(frozen=True, slots=True)
class Party:
    """Somebody on the network: a pod, or an address outside of the cluster."""

    name: str
    labels: Mapping[str, str]
    namespace: str = NAMESPACE
    address: str = ""


def parties(*manifests: Manifests) -> list[Party]:
    """Every kind of pod there is."""
    results = [workload for each in manifests for workload in each.workloads()]
    return [Party(labels(workload)[NAME_LABEL], labels(workload)) for workload in results]


def open_ports(manifests: Sequence[Manifests]) -> set[int]:
    """Whatever any container listens on."""
    return {
        port["containerPort"]
        for each in manifests
        for workload in each.workloads()
        for port in main_container(workload).get("ports", [])
    }
