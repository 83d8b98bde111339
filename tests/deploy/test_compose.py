"""docker-compose.yml agrees with the apps, their images and settings, and the plan of the node."""

import re
import shlex
import string
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from chassis.settings import AppSettings, ServiceAccess
from clients.settings import ClientSettings
from corpus.settings import CorpusSettings
from deploy.images.catalogue import IMAGES, version
from deploy.inventory import APPS, VLM_HOST, VLM_PORT, App
from deploy.weights.catalogue import FOLDER
from deploy.weights.settings import HubSettings
from services.vlm.launch import Placement, serve_arguments
from services.vlm.presets import PRESETS, Preset
from services.vlm.settings import ServeSettings
from tests.deploy.compose_file import (
    ONCE,
    ROOT,
    SERVICES,
    TWIN,
    Service,
    cards,
    environment_of,
    load,
    networks_of,
    of_profile,
    read_env,
)

FOUNDATIONS = {"vlm", "weights", "tokens", "qdrant", "redis", "prometheus", "grafana"}
VOICE = {"stt", "tts"}
PUBLIC_IMAGE = re.compile(r"docker\.io/[a-z0-9/-]+:v?\d+\.\d+\.\d+(-[a-z0-9]+)?(@sha256:[0-9a-f]{64})?")
each_service = pytest.mark.parametrize("name", list(SERVICES))
each_app = pytest.mark.parametrize("app", APPS, ids=lambda app: str(app.host))


def both(app: App) -> list[Service]:
    return [SERVICES[app.host], SERVICES[app.host + TWIN]]


def served() -> tuple[Preset, ServeSettings, Service]:
    """The model server's preset, its sizes by the plan, and how compose runs it."""
    service = SERVICES["vlm"]
    names = {
        key.removeprefix("LOREGLASS_VLM_").lower(): value for key, value in environment_of(service).items()
    }
    sizes = ServeSettings.model_validate({key: names[key] for key in ServeSettings.model_fields})
    return PRESETS[sizes.preset], sizes, service


def test_each_profile_runs_every_app() -> None:
    assert set(of_profile("pocket")) == {app.host for app in APPS} | {"tokens"}
    assert set(of_profile("l40s")) == {app.host + TWIN for app in APPS} | FOUNDATIONS
    assert set(of_profile("dashboards")) == {"prometheus-pocket", "grafana-pocket"}
    assert set(of_profile("tools")) == {"corpus"}
    assert set(of_profile("voice")) == VOICE
    assert set(of_profile("voice-l40s")) == {name + TWIN for name in VOICE}
    assert {name for name, each in SERVICES.items() if len(each["profiles"]) > 1} == {"tokens"}


def test_pocket_is_what_runs_unless_somebody_chooses() -> None:
    assert read_env(ROOT / ".env")["COMPOSE_PROFILES"] == "pocket"


@each_app
def test_a_twin_answers_to_the_apps_name(app: App) -> None:
    assert networks_of(SERVICES[app.host + TWIN])["inside"] == [app.host]


@each_app
def test_an_app_runs_from_its_own_image(app: App) -> None:
    by_name = {image.name: image.reference for image in IMAGES}
    assert [each["image"] for each in both(app)] == [
        by_name[app.host],
        by_name[f"{app.host}-cuda" if app.cuda_group else app.host],
    ]


def test_tools_run_from_their_own_images_of_this_release() -> None:
    by_name = {image.name: image.reference for image in IMAGES}
    assert {name: SERVICES[name]["image"] for name in ONCE} == {
        "weights": by_name["weights"],
        "corpus": by_name["corpus"],
        "tokens": by_name["verifier"],
    }
    assert read_env(ROOT / ".env")["LOREGLASS_VERSION"] == version()


@pytest.mark.parametrize("name", sorted(FOUNDATIONS - ONCE))
def test_the_images_of_others_are_pinned(name: str) -> None:
    assert PUBLIC_IMAGE.fullmatch(SERVICES[name]["image"])


def test_redis_is_past_what_lets_a_caller_run_code() -> None:
    """CVE-2025-49844 is mended in 7.4.6, CVE-2026-23479, -25243 and -23631 in 7.4.9, more in 7.4.10."""
    found = re.search(r"redis:7\.4\.(\d+)-alpine", SERVICES["redis"]["image"])
    assert found is not None
    assert int(found[1]) >= 10


def test_qdrants_server_is_at_most_one_release_from_its_client() -> None:
    locked = re.search(r"^qdrant-client==1\.(\d+)\.", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    server = re.search(r":v1\.(\d+)\.", SERVICES["qdrant"]["image"])
    assert locked is not None
    assert server is not None
    assert abs(int(locked[1]) - int(server[1])) <= 1


@each_app
def test_a_twin_runs_as_the_plan_of_the_node_says(app: App) -> None:
    assert SERVICES[app.host + TWIN]["env_file"][0] == f"deploy/placement/l40s/{app.name}.env"
    assert "env_file" not in SERVICES[app.host]


@each_app
def test_every_variable_is_a_setting_of_the_app_and_all_together_are_valid(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    for service in both(app):
        told = {key: value for key, value in environment_of(service).items() if key.startswith("LOREGLASS_")}
        own = {key: value for key, value in told.items() if key.startswith(app.prefix)}
        shared = {f"LOREGLASS_SERVICE_{name.upper()}" for name in ServiceAccess.model_fields}
        strange = {key for key in told.keys() - own.keys() - shared if not is_a_setting_of_another(key, app)}
        assert strange == set()
        assert {key.removeprefix(app.prefix).lower() for key in own} <= set(app.settings.model_fields)
        for key, value in own.items():
            monkeypatch.setenv(key, value)
        app.settings()


def is_a_setting_of_another(key: str, app: App) -> bool:
    """The file that says where the weights are is one for all services."""
    others = [each for each in APPS if each is not app and key.startswith(each.prefix)]
    return any(key.removeprefix(each.prefix).lower() in each.settings.model_fields for each in others)


def test_the_gateway_is_told_where_every_service_is() -> None:
    for service in both(APPS[0]):
        told = environment_of(service)
        for app in APPS[1:]:
            url = told[f"LOREGLASS_GATEWAY_{app.name.upper()}_URL"]
            assert urlsplit(url).netloc == f"{app.host}:{app.port}"
    told = environment_of(SERVICES["gateway-l40s"])
    assert urlsplit(told["LOREGLASS_GATEWAY_VLM_URL"]).netloc == f"{VLM_HOST}:{VLM_PORT}"
    assert told["LOREGLASS_GATEWAY_SESSIONS"] == "redis"
    assert urlsplit(told["LOREGLASS_GATEWAY_REDIS_URL"]).netloc == "redis:6379"


def test_the_corpus_tool_is_told_where_to_write_and_whom_to_ask() -> None:
    ports: dict[str, type[AppSettings]] = {app.host: app.settings for app in APPS}
    told = environment_of(SERVICES["corpus"])
    fields = {
        f"LOREGLASS_{name.upper()}"
        for model in (CorpusSettings, ClientSettings)
        for name in model.model_fields.keys() - {"access"}
    }
    assert set(told) == fields | {"LOREGLASS_SERVICE_WRITE_TOKEN_FILE"}
    for url in (told[name] for name in fields if name.endswith("_URL")):
        host, _, port = urlsplit(url).netloc.partition(":")
        assert int(port) == ports[host].model_fields["port"].default


def test_the_weights_are_those_of_the_planned_preset_and_put_where_they_are_looked_for() -> None:
    _, sizes, service = served()
    weights = SERVICES["weights"]
    assert environment_of(weights)["LOREGLASS_VLM_PRESET"] == sizes.preset
    assert f"weights:{FOLDER}" in weights["volumes"]
    assert f"weights:{FOLDER}:ro" in service["volumes"]
    head = environment_of(SERVICES["domain-router-l40s"])["LOREGLASS_DOMAIN_ROUTER_HEAD"]
    assert head.startswith(f"{FOLDER}/")
    assert head in (ROOT / "deploy" / "weights" / "README.md").read_text()
    for app in APPS:
        services_files = SERVICES[app.host + TWIN]["env_file"][1:]
        assert services_files == (["deploy/weights/weights.env"] if app.cuda_group else [])


def test_the_token_is_a_secret_where_the_tool_looks_for_it() -> None:
    (secret,) = SERVICES["weights"]["secrets"]
    assert f"/run/secrets/{secret}" == str(HubSettings().token_file)


def test_vllm_serves_the_planned_preset_with_its_own_flags_and_the_planned_sizes() -> None:
    preset, sizes, service = served()
    line = shlex.split(string.Template(service["command"][0]).substitute(environment_of(service)))
    assert line[:3] == ["exec", "vllm", "serve"]
    assert line[3:] == serve_arguments(
        preset,
        Placement(
            host="0.0.0.0",
            port=VLM_PORT,
            weights=f"{FOLDER}/{preset.model.rpartition('/')[2]}",
            memory_share=sizes.memory_share,
            context=sizes.max_model_len,
            sequences=sizes.max_num_seqs,
        ),
    )
    assert service["image"] == preset.image
    assert dict(preset.environment).items() <= environment_of(service).items()
    assert environment_of(service)["CUDA_VISIBLE_DEVICES"] == str(sizes.gpu)


def test_whoever_computes_on_a_card_has_the_cards_that_the_plan_names() -> None:
    for app in APPS:
        twin = SERVICES[app.host + TWIN]
        device = environment_of(twin).get(f"{app.prefix}DEVICE", "cpu")
        assert bool(app.cuda_group) == device.startswith("cuda") == bool(cards(twin))
        assert device == "cpu" or device.partition(":")[2] in cards(twin)
        assert not cards(SERVICES[app.host])
    assert str(served()[1].gpu) in cards(SERVICES["vlm"])


@each_service
def test_who_waits_waits_for_readiness_of_what_runs_beside_it(name: str) -> None:
    waits = SERVICES[name].get("depends_on", {})
    for other, how in waits.items():
        (profile,) = SERVICES[name]["profiles"]
        assert profile.removeprefix("voice-") in SERVICES[other]["profiles"]  # which is never chosen alone
        ends = other in ONCE
        assert how == {"condition": "service_completed_successfully" if ends else "service_healthy"}
        ours = any(app.host == other.removesuffix(TWIN) for app in APPS)  # whose images have a health check
        assert ends or ours or "test" in SERVICES[other]["healthcheck"]


def test_the_gateway_comes_last() -> None:
    pocket, twin = (set(each["depends_on"]) for each in both(APPS[0]))
    assert pocket == {app.host for app in APPS[1:]}
    assert twin == {app.host + TWIN for app in APPS[1:]} | {"vlm", "redis"}


def test_nobody_takes_memory_of_a_card_before_vllm_has_measured_it() -> None:
    waiting = {name for name, each in SERVICES.items() if cards(each) and "vlm" in each["depends_on"]}
    assert waiting == {name for name, each in SERVICES.items() if cards(each)} - {"vlm"}


def test_who_needs_weights_reads_them_and_fetches_nothing() -> None:
    for name, service in SERVICES.items():
        mounted = [each for each in service.get("volumes", []) if each.startswith("weights:")]
        if name == "weights":
            assert mounted == ["weights:/weights"]
        elif cards(service):
            assert mounted == ["weights:/weights:ro"]
            assert environment_of(service)["HF_HUB_OFFLINE"] == "1"
        else:
            assert mounted == []


@each_app
def test_an_embedded_index_has_a_volume(app: App) -> None:
    mounted = SERVICES[app.host].get("volumes", [])
    assert [each for each in mounted if "/tokens/" not in each] == (
        [f"{app.host}:/var/lib/loreglass"] if app.keeps_data else []
    )


@each_service
def test_what_is_mounted_from_here_exists(name: str) -> None:
    declared = load()
    for mount in SERVICES[name].get("volumes", []):
        source = mount.partition(":")[0]
        if source != "./data":
            assert (ROOT / source).exists() if source.startswith(".") else source in declared["volumes"]
    for secret in SERVICES[name].get("secrets", []):
        assert Path(declared["secrets"][secret]["file"]).parent == Path("deploy/compose/secrets")


def test_grafana_finds_its_dashboards_and_prometheus() -> None:
    folder = ROOT / "deploy/grafana/provisioning"
    (provider,) = yaml.safe_load((folder / "dashboards/loreglass.yml").read_text())["providers"]
    assert f"./deploy/grafana/dashboards:{provider['options']['path']}:ro" in SERVICES["grafana"]["volumes"]
    (source,) = yaml.safe_load((folder / "datasources/prometheus.yml").read_text())["datasources"]
    assert urlsplit(source["url"]).netloc == "prometheus:9090"


def test_pocket_s_dashboards_are_those_of_the_l40s_and_nobody_logs_in_there() -> None:
    ours, theirs = SERVICES["grafana-pocket"], SERVICES["grafana"]
    assert set(ours["volumes"]) == set(theirs["volumes"]) - {"grafana:/var/lib/grafana"}
    assert ours["image"] == theirs["image"]
    assert ours["environment"]["GF_AUTH_BASIC_ENABLED"] == "false"
    assert ours["environment"]["GF_AUTH_DISABLE_LOGIN_FORM"] == "true"
    assert not ours["secrets"]


@pytest.mark.parametrize(
    ("profiles", "name", "config"),
    [
        (("l40s",), "prometheus", "prometheus.yml"),
        (("pocket", "dashboards"), "prometheus-pocket", "pocket.yml"),
    ],
    ids=["l40s", "pocket"],
)
def test_prometheus_can_reach_what_it_scrapes_and_remembers_as_long_as_its_rules_look_back(
    profiles: tuple[str, ...], name: str, config: str
) -> None:
    scraped = yaml.safe_load((ROOT / "deploy/prometheus" / config).read_text())["scrape_configs"]
    own = set(networks_of(SERVICES[name]))
    assert f"--config.file=/etc/prometheus/{config}" in SERVICES[name]["command"]
    assert name == "prometheus" or networks_of(SERVICES[name])["inside"] == ["prometheus"]
    reachable = {
        host
        for profile in profiles
        for name, service in of_profile(profile).items()
        for network, aliases in networks_of(service).items()
        if network in own
        for host in (name, *aliases)
    }
    told = [config for job in scraped for config in job.get("static_configs", ())]
    targets = {target for config in told for target in config["targets"]}
    assert {target.partition(":")[0] for target in targets} <= reachable
    assert "--enable-feature=exemplar-storage" in SERVICES[name]["command"]
    assert "--storage.tsdb.retention.time=30d" in SERVICES[name]["command"]


def test_an_alertmanager_is_found_by_both_and_reads_the_example() -> None:
    added = load("deploy/compose/alerts.yml")
    found = yaml.safe_load((ROOT / "deploy/prometheus/alertmanagers/compose.yml").read_text())
    assert found == [{"targets": ["alertmanager:9093"]}]
    for name in ("prometheus", "prometheus-pocket"):
        service = added["services"][name]
        assert service["volumes"] == ["./deploy/prometheus/alertmanagers:/etc/alertmanagers:ro"]
        assert "alerts" in service["networks"]
        config = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())
        assert config["alerting"]["alertmanagers"] == [
            {"file_sd_configs": [{"files": ["/etc/alertmanagers/*.yml"]}]}
        ]
    example = yaml.safe_load((ROOT / "deploy/prometheus/alertmanager.yml").read_text())
    (secret,) = added["services"]["alertmanager"]["secrets"]
    kept = {each["slack_configs"][0]["api_url_file"] for each in example["receivers"]}
    assert kept == {f"/run/secrets/{secret}"}
    assert PUBLIC_IMAGE.fullmatch(added["services"]["alertmanager"]["image"])
