"""The compose files are valid, give apps settings that they accept, and confine every container."""

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chassis.decoding import photos
from chassis.settings import ServiceAccess
from deploy.inventory import APPS, App
from gateway.settings import GatewaySettings
from gateway.speech import decoder
from tests.deploy.compose_file import ONCE, ROOT, SERVICES, TWIN, environment_of, load, networks_of

BESIDE = [f"deploy/compose/{name}.yml" for name in ("keys", "dashboards", "alerts", "voice", "podman")]
ALERTMANAGER = {"alertmanager": load("deploy/compose/alerts.yml")["services"]["alertmanager"]}
PROFILES = ["pocket,dashboards,voice,tools", "l40s,voice-l40s"]
each_app = pytest.mark.parametrize("app", APPS, ids=lambda app: str(app.host))


@pytest.mark.parametrize("beside", [[], *([each] for each in BESIDE[:4]), BESIDE[:4]], ids=str)
@pytest.mark.parametrize("profiles", PROFILES)
def test_docker_compose_accepts_the_files(beside: list[str], profiles: str, tmp_path: Path) -> None:
    if shutil.which("docker") is None or run(["docker", "compose", "version"]).returncode:
        pytest.skip("docker compose is not installed here")
    done = config(["docker", "compose"], beside, profiles)
    assert done.returncode == 0, done.stderr


def test_podman_compose_accepts_the_files() -> None:
    done = config([sys.executable, "-m", "podman_compose"], BESIDE, PROFILES[0])
    if "podman is not installed" in done.stderr or "No such file or directory: 'podman'" in done.stderr:
        pytest.skip("podman is not installed here")
    assert done.returncode == 0, done.stderr[-2000:]


def config(compose: list[str], beside: list[str], profiles: str) -> subprocess.CompletedProcess[str]:
    files = itertools.chain.from_iterable(("-f", name) for name in ("docker-compose.yml", *beside))
    return run([*compose, *files, "config"], COMPOSE_PROFILES=profiles)


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@each_app
@pytest.mark.parametrize("twin", ["", TWIN], ids=["pocket", "l40s"])
def test_an_app_accepts_its_variables(app: App, twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = environment_of(SERVICES[app.host + twin])
    prefixes = {each.prefix: each.settings.model_fields for each in APPS}
    shared = {f"LOREGLASS_SERVICE_{name.upper()}" for name in ServiceAccess.model_fields}
    for key in {key for key in variables if key.startswith("LOREGLASS_")} - shared:
        (prefix,) = [prefix for prefix in prefixes if key.startswith(prefix)]
        assert key.removeprefix(prefix).lower() in prefixes[prefix], key
    for key, value in variables.items():
        monkeypatch.setenv(key, value)
    app.settings()


def test_gateway_container_has_a_quarter_more_memory_than_needed() -> None:
    """As docs/operations/limits.md adds it up, "Memory of the gateway"."""
    settings = GatewaySettings()
    needed = (
        (256 << 20)
        + settings.session_bytes
        + 2 * settings.max_upload_bytes
        + 8 * settings.max_body_bytes
        + settings.photo_decoders * photos.MEMORY_BYTES
        + settings.audio_decoders * decoder.MEMORY_BYTES
    )
    limits = [each["mem_limit"] for name, each in SERVICES.items() if name.startswith("gateway")]
    assert all(1.25 * needed <= int(limit.removesuffix("g")) << 30 for limit in limits)


@pytest.mark.parametrize("name", [*SERVICES, *ALERTMANAGER])
def test_every_container_is_confined(name: str) -> None:
    service = (SERVICES | ALERTMANAGER)[name]
    user, _, group = service["user"].partition(":")
    assert int(user) > 0
    assert group.isdigit()
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["pids_limit"] > 0
    assert re.fullmatch(r"\d+[gm]", service["mem_limit"])
    assert {"max-size", "max-file"} <= service["logging"]["options"].keys()
    assert not service.keys() & {"privileged", "cap_add"}
    assert service.get("restart") == (None if name in ONCE else "unless-stopped")


def test_gateway_and_dashboards_alone_are_published_on_loopback() -> None:
    published = {name: each["ports"] for name, each in SERVICES.items() if "ports" in each}
    assert published.keys() == {"gateway", "gateway-l40s", "grafana-pocket"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)
    bindings = load(variables={"LOREGLASS_PUBLISH": "0.0.0.0:80"})["services"]["gateway"]["ports"]
    assert bindings == ["0.0.0.0:80:7100"]


def test_weights_job_alone_reaches_the_internet() -> None:
    networks = load()["networks"]
    assert {name for name, each in networks.items() if not each.get("internal")} == {
        *("edge", "dashboards"),
        "internet",
    }
    for name in ("edge", "dashboards"):
        assert networks[name]["driver_opts"] == {"com.docker.network.bridge.enable_ip_masquerade": "false"}
    assert {name for name, each in SERVICES.items() if "internet" in networks_of(each)} == {"weights"}
    assert list(networks_of(SERVICES["vlm"])) == ["model"]
    assert {name for name, each in SERVICES.items() if "model" in networks_of(each)} == {
        *("gateway-l40s", "vlm", "prometheus")
    }


@pytest.mark.parametrize("name", ["gateway", f"gateway{TWIN}"])
def test_gateway_never_has_the_write_token(name: str) -> None:
    assert "LOREGLASS_SERVICE_WRITE_TOKEN_FILE" not in environment_of(SERVICES[name])
    assert "service-token:/tokens/read:ro" in SERVICES[name]["volumes"]
    assert not any("write" in volume for volume in SERVICES[name]["volumes"])


def test_tokens_are_created_once_without_a_network(tmp_path: Path) -> None:
    service = SERVICES["tokens"]
    assert service["network_mode"] == "none"
    python, *command, read, write = service["command"]
    assert (python, read, write) == ("python", "/tokens/read/token", "/tokens/write/token")
    files = [tmp_path / "read", tmp_path / "write"]
    made = []
    for _ in range(2):
        subprocess.run([sys.executable, *command, *files], cwd=ROOT, check=True)
        made.append(ServiceAccess(token_file=files[0], write_token_file=files[1]).open())
    assert made[0] == made[1]
    assert len({made[0].token, made[0].write_token, ""}) == 3
    assert {path.stat().st_mode & 0o777 for path in files} == {0o400}


def test_third_party_images_are_pinned_without_known_vulnerabilities() -> None:
    others = [each["image"] for each in SERVICES.values() if not each["image"].startswith("localhost/")]
    assert all(re.search(r":[\w.-]*\d[\w.-]*(@sha256:[0-9a-f]{64})?$", image) for image in others)
    redis = re.search(r"redis:7\.4\.(\d+)-alpine", SERVICES["redis"]["image"])
    assert redis, "a Redis 7.4"
    assert int(redis[1]) >= 10, "CVE-2025-49844, CVE-2026-23479"
    client = re.search(r"^qdrant-client==1\.(\d+)\.", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    server = re.search(r":v1\.(\d+)\.", SERVICES["qdrant"]["image"])
    assert client, "qdrant-client is locked"
    assert server, "Qdrant is pinned"
    assert abs(int(client[1]) - int(server[1])) <= 1, "Qdrant supports clients one release away"
