"""What the check needs of a Debian machine: `python3.11 -m tests.containers.needs`, before any install.

Only the standard library, so that who lacks something hears of all of it, at once and first.
"""

import os
import shutil
import sys
from pathlib import Path

_PROGRAMS = {
    "podman": "podman",
    "/usr/lib/podman/netavark": "netavark",
    "/usr/lib/podman/aardvark-dns": "aardvark-dns",
    "iptables": "iptables",
}
"""A program, and Debian's package of it. netavark and aardvark-dns: containers find each other by name."""
_OLD_BRIDGE = "cni-podman0"


def unavailable() -> str:
    """Return why nothing can be checked here and what to do about it, or nothing."""
    programs = _PROGRAMS | ({} if _has_new_cgroups() else {"runc": "runc"})
    if missing := [package for program, package in programs.items() if shutil.which(program) is None]:
        return f"{', '.join(missing)} missing. As root: apt-get install --yes {' '.join(missing)}"
    if os.geteuid() != 0:
        return "it takes root: to make networks that lead nowhere"
    if Path("/sys/class/net", _OLD_BRIDGE).exists():
        return f"podman's older networks have the same addresses. As root: ip link delete {_OLD_BRIDGE}"
    return ""


def configuration() -> str:
    """Return containers.conf for this machine; nothing where podman's own choices do."""
    containers, engine = [], []
    if not Path("/run/systemd/system").is_dir():
        engine += ['cgroup_manager = "cgroupfs"', 'events_logger = "file"']
        containers.append("default_ulimits = []")  # none but ours: who is confined may not raise them
    if not _has_new_cgroups():
        engine.append('runtime = "runc"')  # crun refuses old control groups beside new ones
    if not engine:
        return ""
    network = ['network_backend = "netavark"']
    tables = {"containers": containers, "engine": engine, "network": network}
    return "".join("\n".join([f"[{name}]", *lines, ""]) for name, lines in tables.items())


def _has_new_cgroups() -> bool:
    """Control groups of the second version, and no others."""
    return Path("/sys/fs/cgroup/cgroup.controllers").exists()


if __name__ == "__main__":
    if reason := unavailable():
        sys.exit(f"The containers cannot be checked: {reason}")
