"""Against what the journeys go: by name, how it is made over a folder for its data."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.containers.deployment import Containers
from tests.containers.project import Project, project_in_environment
from tests.journey.deployments import Deployment, Killable, OneProcess, SeparateProcesses


def _containers(project: Project, _: Path) -> Killable:
    return Containers(project)


KILLABLE: dict[str, Callable[[Path], Killable]] = {"separate": SeparateProcesses}
KINDS: dict[str, Callable[[Path], Deployment]] = {"one_process": OneProcess, **KILLABLE}

if project := project_in_environment():
    # Set by `python -m tests.containers`, which has built the images: the same journeys, against those.
    KILLABLE = {"containers": partial(_containers, project)}
    KINDS = {**KILLABLE}
