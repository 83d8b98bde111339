"""Who may experiment: on one's own machine everybody, in containers and clusters nobody, unless told so."""

import pytest

from deploy.one_process import gateway_settings_for

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
