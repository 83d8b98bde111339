"""The release workflow: what runs there is pinned, and each job may do only what it needs."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github/workflows/release.yml").read_text()
JOBS: dict[str, Any] = yaml.safe_load(WORKFLOW)["jobs"]


def test_actions_are_pinned_by_commit_and_tools_by_version() -> None:
    uses = re.findall(r"uses: (\S+)", WORKFLOW)
    assert uses
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each) for each in uses)
    assert all("==" in each or "$UV_SPEC" in each for each in re.findall(r"pipx run (.*)", WORKFLOW))


def test_only_publishing_gets_an_identity_and_it_runs_nothing_that_was_built() -> None:
    assert yaml.safe_load(WORKFLOW)["permissions"] == {}
    rights = {name: job["permissions"] for name, job in JOBS.items()}
    assert rights == {
        "build": {"contents": "read"},
        "publish": {"id-token": "write"},
        "images": {"contents": "read", "packages": "write"},
    }
    assert not any("checkout" in step.get("uses", "") for step in JOBS["publish"]["steps"])
    assert all(job["timeout-minutes"] for job in JOBS.values())


@pytest.mark.parametrize("name", JOBS)
def test_no_expression_is_put_into_a_shell(name: str) -> None:
    assert not [step["run"] for step in JOBS[name]["steps"] if "${{" in step.get("run", "")]
