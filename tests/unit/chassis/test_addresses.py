"""Where the commands look for a platform on this machine."""

import pytest

from chassis.addresses import gateway_url, service_url
from clients.settings import ClientSettings
from corpus.settings import corpus_settings
from deploy.doctor import _address
from deploy.inventory import APPS

ADDRESSES = ("PORT", "SERVICE_PORT", "GATEWAY_URL", "IMAGE_SEARCH_URL", "TEXT_SEARCH_URL")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ADDRESSES:
        monkeypatch.delenv(f"LOREGLASS_{name}", raising=False)


def test_every_command_uses_serves_default_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOREGLASS_PORT", "8100")
    monkeypatch.setenv("LOREGLASS_SERVICE_PORT", "8201")
    examined = {app.name: _address(app) for app in APPS}
    assert ClientSettings().gateway_url == examined["gateway"] == "http://127.0.0.1:8100"
    assert corpus_settings().image_search_url == examined["image_search"] == "http://127.0.0.1:8203"
    assert corpus_settings().text_search_url == examined["text_search"] == "http://127.0.0.1:8204"
    assert examined["reader"] == "http://127.0.0.1:8208"


def test_option_overrides_address_and_address_overrides_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOREGLASS_SERVICE_PORT", "8201")
    monkeypatch.setenv("LOREGLASS_TEXT_SEARCH_URL", "http://search.example")
    assert corpus_settings().text_search_url == "http://search.example"
    given = corpus_settings(text_search_url="http://other.example", image_search_url="")
    assert given.text_search_url == "http://other.example"
    assert given.image_search_url == "http://127.0.0.1:8203"


def test_default_ports_are_used_if_serve_picks_free_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOREGLASS_PORT", "0")
    monkeypatch.setenv("LOREGLASS_SERVICE_PORT", "0")
    assert gateway_url() == "http://127.0.0.1:7100"
    assert service_url(7104) == "http://127.0.0.1:7104"
