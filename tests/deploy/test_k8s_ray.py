"""The job that indexes on Ray: KubeRay's definition is not among Kubernetes' schemas, its pods' are."""

import kubernetes_validate
import pytest

from corpus.cluster import command
from deploy.inventory import APPS
from tests.deploy.kustomize import NAMESPACE, NEWEST, OLDEST, ROOT, Object, render

JOB = "jobs/index-ray"
_SPEC = {
    "submissionMode",
    "shutdownAfterJobFinishes",
    "ttlSecondsAfterFinished",
    "backoffLimit",
    "entrypoint",
    "entrypointNumCpus",
    "rayClusterSpec",
}
_GROUP = {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"}
"""The parts of ray.io/v1 (KubeRay's rayjob_types.go and raycluster_types.go) that are used."""


def _cluster() -> Object:
    spec: Object = render(JOB).get("RayJob", "index-ray")["spec"]["rayClusterSpec"]
    return spec


def _groups() -> list[Object]:
    cluster = _cluster()
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


def test_the_job_holds_what_its_definition_asks_for() -> None:
    job = render(JOB).get("RayJob", "index-ray")
    assert job["apiVersion"] == "ray.io/v1"
    assert set(job["spec"]) == _SPEC
    assert job["spec"]["submissionMode"] in ("K8sJobMode", "HTTPMode", "InteractiveMode")
    assert set(_cluster()) == {"rayVersion", "authOptions", "headGroupSpec", "workerGroupSpecs"}
    assert _cluster()["authOptions"] == {"mode": "token"}
    for group in _groups():
        assert set(group) <= _GROUP
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
    for group in _cluster()["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]


@pytest.mark.parametrize("kubernetes", [OLDEST, NEWEST])
def test_its_pods_and_policies_are_as_their_schemas_say(kubernetes: str) -> None:
    for each in render(JOB).of_kind("NetworkPolicy"):
        kubernetes_validate.validate(dict(each), kubernetes, strict=True)
        assert each["metadata"]["namespace"] == NAMESPACE
    for group in _groups():
        pod = {"apiVersion": "v1", "kind": "Pod", **group["template"]}
        pod["metadata"] = {"name": "any", **pod["metadata"]}
        kubernetes_validate.validate(pod, kubernetes, strict=True)


def test_its_pods_are_nobody_and_may_write_to_their_volumes_only() -> None:
    for group in _groups():
        spec = group["template"]["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["automountServiceAccountToken"] is False
        for container in spec["containers"]:
            held = container["securityContext"]
            assert held["readOnlyRootFilesystem"] is True
            assert held["capabilities"] == {"drop": ["ALL"]}


def test_ray_counts_with_what_its_pods_have() -> None:
    """Ray takes 30 % of the memory for objects unless it is told, and /dev/shm must hold them."""
    for group in _groups():
        spec, told = group["template"]["spec"], group["rayStartParams"]
        [container] = spec["containers"]
        assert int(told["num-cpus"]) <= int(container["resources"]["requests"]["cpu"])
        [shm] = [each["emptyDir"] for each in spec["volumes"] if each["name"] == "shm"]
        assert int(told["object-store-memory"]) < int(shm["sizeLimit"].removesuffix("Gi")) * 2**30


def test_it_runs_the_command_that_people_use_with_the_locked_ray() -> None:
    spec = render(JOB).get("RayJob", "index-ray")["spec"]
    assert "index $what /data/$what.jsonl --engine ray --address auto" in spec["entrypoint"]
    assert command.Engine("ray")
    locked = (ROOT / "requirements/images/corpus-ray.txt").read_text().splitlines()
    assert f"ray=={_cluster()['rayVersion']}" in locked
    ports = {app.host: app.port for app in APPS}
    for group in _groups():
        [container] = group["template"]["spec"]["containers"]
        given = {each["name"]: each.get("value") for each in container["env"]}
        assert given["LOREGLASS_IMAGE_SEARCH_URL"] == f"http://image-search:{ports['image-search']}"
        assert given["LOREGLASS_TEXT_SEARCH_URL"] == f"http://text-search:{ports['text-search']}"
        assert given["RAY_USAGE_STATS_ENABLED"] == "0"
