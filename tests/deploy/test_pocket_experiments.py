"""Who may experiment: on one's own machine everybody, in containers and clusters nobody, unless told so."""

from pathlib import Path

import pytest

from deploy.one_process import gateway_settings_for

ROOT = Path(__file__).resolve().parents[2]
SETTING = "LOREGLASS_GATEWAY_EXPERIMENTS"


@pytest.mark.parametrize(
    ("host", "said", "allowed"),
    [
        ("127.0.0.1", None, True),
        ("::1", None, True),
        ("localhost", None, True),
        ("127.0.0.1", "false", False),
        ("0.0.0.0", None, False),
        ("192.0.2.7", None, False),
        ("example.com", None, False),
        ("0.0.0.0", "true", True),
    ],
)
def test_the_pocket_platform_allows_them_where_only_this_machine_asks(
    monkeypatch: pytest.MonkeyPatch, host: str, said: str | None, allowed: bool
) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    if said is not None:
        monkeypatch.setenv(SETTING, said)
    assert gateway_settings_for(host).experiments is allowed


def test_containers_and_clusters_leave_them_off() -> None:
    places = [
        ROOT / "docker-compose.yml",
        *(ROOT / "k8s").rglob("*.yaml"),
        *(ROOT / "deploy").rglob("*.y*ml"),
    ]
    assert len(places) > 10
    assert [place for place in places if SETTING in place.read_text("utf-8")] == []
