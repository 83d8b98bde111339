"""The manifests as a cluster would get them, by kubectl's own kustomize, with what tests ask of them."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
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
    if missing := _missing():
        pytest.skip(missing)
    command = ["kubectl", "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "deprecated" not in done.stderr, done.stderr
    # libyaml's: these tests take a sixth less time than with PyYAML's own
    return Manifests(tuple(yaml.load_all(done.stdout, Loader=yaml.CSafeLoader)))


@cache
def _missing() -> str:
    """Return why manifests cannot be rendered here, or an empty string."""
    if shutil.which("kubectl") is None:
        return "kubectl is not installed: it renders k8s/overlays"
    command = ["kubectl", "version", "--client", "--output=yaml"]
    report = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    major = re.search(r"kustomizeVersion: v(\d+)", report)
    # Needed for patches that select kinds by regular expression, and for labels in templates.
    return "" if major and int(major[1]) >= 5 else "k8s/overlays want a kubectl with kustomize 5.0 or later"


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
    is_in = carried.get(key) in values
    outcomes = {"In": is_in, "NotIn": not is_in, "Exists": key in carried, "DoesNotExist": key not in carried}
    return outcomes[expression["operator"]]
