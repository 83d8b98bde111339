"""What the check needs of a Debian machine: `python3.11 -m tests.containers.needs`, before any install.

Only the standard library, so that who lacks something hears of all of it, at once and first.
"""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

_PROGRAMS = {
    "podman": "podman",
    "/usr/lib/podman/netavark": "netavark",
    "/usr/lib/podman/aardvark-dns": "aardvark-dns",
    "iptables": "iptables",
    "debootstrap": "debootstrap",
}
"""A program, and Debian's package of it. netavark and aardvark-dns: containers find each other by name;
debootstrap: the base image where no registry can be reached.
"""
_OLD_BRIDGE = "cni-podman0"

Which = Callable[[str], str | None]


def missing(root: Path = Path("/"), which: Which = shutil.which) -> list[str]:
    """Debian packages that are not there."""
    programs = _PROGRAMS | ({} if _has_new_cgroups(root) else {"runc": "runc"})
    return [package for program, package in programs.items() if which(program) is None]


def unavailable(root: Path = Path("/"), which: Which = shutil.which, user: int | None = None) -> str:
    """Why nothing can be checked here and what to do about it, or nothing."""
    if absent := missing(root, which):
        return f"{', '.join(absent)} missing. As root: apt-get install --yes {' '.join(absent)}"
    if (os.geteuid() if user is None else user) != 0:
        return "it takes root: to make a base image, and networks that lead nowhere"
    if (root / "sys/class/net" / _OLD_BRIDGE).exists():
        return f"podman's older networks have the same addresses. As root: ip link delete {_OLD_BRIDGE}"
    return ""


def configuration(root: Path = Path("/")) -> str:
    """containers.conf for this machine; nothing where podman's own choices do."""
    containers, engine = [], []
    if not (root / "run/systemd/system").is_dir():
        engine += ['cgroup_manager = "cgroupfs"', 'events_logger = "file"']
        containers.append("default_ulimits = []")  # none but ours: who is confined may not raise them
    if not _has_new_cgroups(root):
        engine.append('runtime = "runc"')  # crun refuses old control groups beside new ones
    if not engine:
        return ""
    network = ['network_backend = "netavark"']
    tables = {"containers": containers, "engine": engine, "network": network}
    return "".join("\n".join([f"[{name}]", *lines, ""]) for name, lines in tables.items())


def _has_new_cgroups(root: Path) -> bool:
    """Control groups of the second version, and no others."""
    return (root / "sys/fs/cgroup/cgroup.controllers").exists()


if __name__ == "__main__":
    if reason := unavailable():
        sys.exit(f"The containers cannot be checked: {reason}")
