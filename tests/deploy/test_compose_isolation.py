"""What containers of docker-compose.yml may do and whom they can reach."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chassis.settings import ServiceAccess
from deploy.inventory import APPS
from tests.deploy.compose_file import ONCE, ROOT, SERVICES, TWIN, environment_of, load, networks_of

ADDED = {"alertmanager": load("deploy/compose/alerts.yml")["services"]["alertmanager"]}


@pytest.mark.parametrize("name", [*SERVICES, *ADDED])
def test_every_container_is_confined(name: str) -> None:
    service = (SERVICES | ADDED)[name]
    user, _, group = service["user"].partition(":")
    assert user.isdigit()
    assert group.isdigit()
    assert int(user) > 0
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["pids_limit"] > 0
    assert re.fullmatch(r"\d+[gm]", service["mem_limit"])
    assert {"max-size", "max-file"} <= service["logging"]["options"].keys()
    assert all(mount.startswith("/tmp:size=") for mount in service["tmpfs"])
    assert "privileged" not in service
    assert "cap_add" not in service
    assert service.get("restart") == (None if name in ONCE else "unless-stopped")


def test_only_the_gateway_and_pocket_s_dashboards_are_published_and_only_on_loopback_unless_asked() -> None:
    published = {name: each["ports"] for name, each in SERVICES.items() if "ports" in each}
    assert published == {
        "gateway": ["127.0.0.1:7100:7100"],
        "gateway-l40s": ["127.0.0.1:7100:7100"],
        "grafana-pocket": ["127.0.0.1:3000:3000"],
    }
    asked = load(variables={"LOREGLASS_PUBLISH": "0.0.0.0:80"})["services"]["gateway"]["ports"]
    assert asked == ["0.0.0.0:80:7100"]


def test_the_dashboards_file_opens_grafana_on_loopback_and_nothing_else() -> None:
    opened = load("deploy/compose/dashboards.yml")["services"]
    assert list(opened) == ["grafana"]
    assert opened["grafana"]["ports"] == ["127.0.0.1:3000:3000"]
    assert set(networks_of(SERVICES["grafana"])) < set(networks_of(opened["grafana"]))


def test_the_podman_file_takes_away_what_podman_does_not_know_and_nothing_else() -> None:
    known = [name for name, each in load()["networks"].items() if "driver_opts" in (each or {})]
    assert known == ["edge", "dashboards"]
    assert load("deploy/compose/podman.yml") == {"networks": {name: {"driver_opts": None} for name in known}}


def test_the_keys_file_gives_both_gateways_their_keys() -> None:
    added = load("deploy/compose/keys.yml")["services"]
    assert set(added) == {"gateway", "gateway-l40s"}
    for service in added.values():
        (name,) = service["environment"]
        assert name.removeprefix(APPS[0].prefix).lower() in APPS[0].settings.model_fields
        assert service["environment"][name] == f"/run/secrets/{service['secrets'][0]}"


@pytest.mark.parametrize(
    ("network", "members"),
    [
        ("edge", {"gateway", "gateway-l40s"}),
        ("model", {"gateway-l40s", "vlm", "prometheus"}),
        ("sessions", {"gateway-l40s", "redis"}),
        ("vectors", {"image-search-l40s", "text-search-l40s", "qdrant", "prometheus"}),
        ("dashboards", {"grafana-pocket"}),
        ("speech", {"stt", "tts", "stt-l40s", "tts-l40s"}),
        ("internet", {"weights"}),
    ],
)
def test_a_network_has_those_who_need_it_and_nobody_else(network: str, members: set[str]) -> None:
    assert {name for name, each in SERVICES.items() if network in networks_of(each)} == members


def test_the_model_server_is_on_no_other_network() -> None:
    """A vLLM with known holes: nobody else may speak to it, and it to nobody."""
    assert list(networks_of(SERVICES["vlm"])) == ["model"]


def test_nothing_leads_out_but_the_network_of_the_weights() -> None:
    networks: dict[str, dict[str, Any]] = load()["networks"]
    used = {network for each in SERVICES.values() for network in networks_of(each)}
    assert used == set(networks)
    assert {name for name, each in networks.items() if not each.get("internal")} == {
        "edge",
        "dashboards",
        "internet",
    }
    for name in ("edge", "dashboards"):
        assert networks[name]["driver_opts"] == {"com.docker.network.bridge.enable_ip_masquerade": "false"}


def test_alertmanager_reaches_out_and_nobody_of_the_platform_but_prometheus() -> None:
    added = load("deploy/compose/alerts.yml")
    assert set(networks_of(added["services"]["alertmanager"])) == {"alerts", "internet"}
    assert added["networks"] == {"alerts": {"internal": True}}
    on_it = {name for name, each in added["services"].items() if "alerts" in networks_of(each)}
    assert on_it == {"alertmanager", "prometheus", "prometheus-pocket"}


def test_no_secret_is_ever_committed() -> None:
    assert (ROOT / "deploy/compose/secrets/.gitignore").read_text().split() == ["*", "!.gitignore"]


def test_nobody_but_services_and_the_tool_is_shown_the_token_of_those_who_write() -> None:
    read, write = "service-token:/tokens/read:ro", "service-write-token:/tokens/write:ro"
    told_of = {
        read: ("LOREGLASS_SERVICE_TOKEN_FILE", "/tokens/read/token"),
        write: ("LOREGLASS_SERVICE_WRITE_TOKEN_FILE", "/tokens/write/token"),
    }
    services = {f"{app.host}{twin}" for app in APPS[1:] for twin in ("", TWIN)}
    wanted = {"gateway": {read}, f"gateway{TWIN}": {read}, "corpus": {write}}
    wanted |= {name: {read, write} for name in services}
    wanted["tokens"] = {read.removesuffix(":ro"), write.removesuffix(":ro")}
    for name, service in SERVICES.items():
        held = {mount for mount in service.get("volumes", []) if mount.startswith("service-")}
        assert held == wanted.get(name, set()), name
        if name != "tokens":
            told = {key: value for key, value in environment_of(service).items() if "SERVICE_" in key}
            assert told == {key: value for mount, (key, value) in told_of.items() if mount in held}, name
        if name in services:
            assert service["depends_on"]["tokens"] == {"condition": "service_completed_successfully"}


def test_tokens_are_made_once_by_whom_nobody_reaches(tmp_path: Path) -> None:
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
    assert sorted(tmp_path.iterdir()) == files
