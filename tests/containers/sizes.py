"""What each image weighs on disk and what each container holds in memory."""

import json

from deploy.inventory import APPS
from tests.containers.deployment import Containers
from tests.containers.engine import inspect, podman
from tests.containers.project import ROOT

MB = 1_000_000
ENV = ROOT / ".env"
_RESIDENT = """
import glob, os
held = 0
for place in glob.glob("/proc/[0-9]*/smaps_rollup"):
    if int(place.split("/")[2]) != os.getpid():
        lines = open(place).read().splitlines()
        held += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
print(held * 1024)
"""


def table(containers: Containers) -> str:
    """One line a container, in MB (10^6 bytes): its image, what its processes hold, and its limit."""
    rows = [("", "image MB", "memory MB", "limit MB")]
    for app in APPS:
        image = json.loads(podman("image", "inspect", _image(app.host)))[0]["Size"]
        held = int(containers.python(app.name, _RESIDENT))
        limit = inspect(containers.container(app.name))["HostConfig"]["Memory"]
        rows.append((app.host, _mb(image), _mb(held), _mb(limit)))
    corpus = json.loads(podman("image", "inspect", _image("corpus")))[0]["Size"]
    rows.append(("corpus", _mb(corpus), "–", "–"))
    return "\n".join(f"    {name:15}{image:>10}{held:>11}{limit:>10}" for name, image, held, limit in rows)


def _image(name: str) -> str:
    settings = dict(line.split("=", 1) for line in ENV.read_text().splitlines() if line[:1] not in "# ")
    return f"{settings['LOREGLASS_IMAGES']}/{name}:{settings['LOREGLASS_VERSION']}"


def _mb(number: int) -> str:
    return f"{number / MB:.0f}"
