"""What a container may not do, asked of the running containers themselves."""

import json

from deploy.inventory import APPS
from tests.containers.deployment import Containers
from tests.containers.engine import inspect

_USER = 10001
_REPORT = """
import json, os, socket
def reach(host, port):
    try:
        socket.create_connection((host, port), 3).close()
    except OSError as error:
        return type(error).__name__ + ": " + (error.strerror or str(error))
    return ""
status = dict(line.split(":\\t", 1) for line in open("/proc/1/status").read().splitlines() if ":\\t" in line)
routes = [line.split()[1] for line in open("/proc/net/route").read().splitlines()[1:]]
print(json.dumps({
    "user": [os.getuid(), os.getgid()],
    "capabilities": int(status["CapEff"], 16),
    "no_new_privileges": status["NoNewPrivs"].strip() == "1",
    "root_is_read_only": bool(os.statvfs("/").f_flag & os.ST_RDONLY),
    "temporary_is_writable": os.access("/tmp", os.W_OK),
    "way_out": "00000000" in routes,
    "outside": reach("192.0.2.1", 443),
    "pip": any(os.path.exists(d + "/pip") for d in os.environ["PATH"].split(":")),
}))
"""
_WRITES = """
import os, sys, urllib.error, urllib.request
def status(token):
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    url = "http://text-search:7104/v1/collections/stolen/chunks"
    request = urllib.request.Request(url, b"{}", headers, method="PUT")
    try:
        return urllib.request.urlopen(request, timeout=30).status
    except urllib.error.HTTPError as error:
        return error.code
read = open(os.environ["LOREGLASS_SERVICE_TOKEN_FILE"]).read()
print(status(""), status(read), os.listdir("/tokens/write"))
"""
# 192.0.2.1 is for documentation (RFC 5737): nobody is there, and without a way out the answer is immediate.


def faults(deployment: Containers) -> list[str]:
    """Each thing that is not as it should be; none is what we want."""
    found = []
    for app in APPS:
        container = deployment.container(app.name)
        found += [f"{container}: {fault}" for fault in _of_host(container, published=app.name == "gateway")]
        said = json.loads(deployment.python(app.name, _REPORT))
        found += [f"{container}: {fault}" for fault in _of_inside(said, gateway=app.name == "gateway")]
    written = deployment.python("gateway", _WRITES)
    return found if written == "401 401 []" else [*found, f"the gateway may write, or could: {written}"]


def _of_host(container: str, published: bool) -> list[str]:
    known = inspect(container)
    networks = {name.rpartition("_")[2] for name in known["NetworkSettings"]["Networks"]}
    bound = {
        f"{each['HostIp']}:{port}"
        for port, places in (known["NetworkSettings"]["Ports"] or {}).items()
        for each in places or ()
    }
    wanted = {"edge", "inside"} if published else {"inside"}
    checks = {
        f"is on {networks}": networks == wanted,
        f"is published: {bound}": {place.split(":")[0] for place in bound}
        == ({"127.0.0.1"} if published else set()),
        "has no memory limit": known["HostConfig"]["Memory"] > 0,
        "has no limit of processes": known["HostConfig"]["PidsLimit"] > 0,
        "is privileged": not known["HostConfig"]["Privileged"],
    }
    return [fault for fault, fine in checks.items() if not fine]


def _of_inside(said: dict[str, object], gateway: bool) -> list[str]:
    checks = {
        f"runs as {said['user']}": said["user"] == [_USER, _USER],
        f"has capabilities: {said['capabilities']:#x}": said["capabilities"] == 0,
        "may gain privileges": said["no_new_privileges"],
        "can write to its root": said["root_is_read_only"],
        "cannot write to /tmp": said["temporary_is_writable"],
        "has pip": not said["pip"],
        "has a way out": gateway or not said["way_out"],
        f"reaches out: {said['outside']!r}": gateway or "unreachable" in str(said["outside"]),
    }
    return [fault for fault, fine in checks.items() if not fine]
