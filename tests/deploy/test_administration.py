"""An operator chooses a risk, and makes and revokes keys."""

from pathlib import Path

import httpx
import pytest

from chassis.keys import ApiKey
from clients.keys import entry
from deploy.administration import RiskChoice
from gateway.settings import GatewaySettings
from gateway.thresholds import Risk
from tests.deploy.operating import Operated, operated

pytestmark = pytest.mark.anyio

LIMITS = '[[tenant]]  # a note\nname = "acme"\nin_flight = 3\n'


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def test_chosen_risk_changes_thresholds_and_survives_a_restart(tmp_path: Path) -> None:
    async with operated(tmp_path) as running:
        assert (await running.client.get("/operator/administration")).json()["risk"] == "balanced"
        chosen = await running.client.put("/operator/risk", json={"risk": "careful"})
        assert (chosen.status_code, chosen.json()["risk"]) == (200, "careful")
        [pipeline] = running.app.state.gateway.execution.pipelines.values()
        assert pipeline.thresholds.supported == 0.70
        refused = await running.client.put("/operator/risk", json={"risk": "wild"})
        assert refused.status_code == 422
    assert RiskChoice.of(GatewaySettings(), tmp_path).current is Risk.CAREFUL
    assert RiskChoice.of(GatewaySettings(risk=Risk.EAGER), tmp_path).current is Risk.EAGER


async def test_risk_of_the_environment_is_not_changed_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOREGLASS_GATEWAY_RISK", "eager")
    async with operated(tmp_path) as running:
        state = (await running.client.get("/operator/administration")).json()
        assert (state["risk"], state["risk_is_set"]) == ("eager", True)
        assert (await running.client.put("/operator/risk", json={"risk": "careful"})).status_code == 422


async def test_without_a_keys_file_no_key_is_made(tmp_path: Path) -> None:
    async with operated(tmp_path) as running:
        assert (await running.client.get("/operator/administration")).json()["keys"] is None
        refused = await running.client.post("/operator/keys", json={"tenant": "anna"})
        assert "LOREGLASS_GATEWAY_KEYS" in refused.json()["detail"]


async def test_keys_are_made_shown_once_and_revoked(tmp_path: Path) -> None:
    own, file = ApiKey.new(), tmp_path / "keys.toml"
    file.write_text(f"# ours\n{LIMITS}\n{entry(own, 'acme', 'interactive', operator=True)}\n")
    file.chmod(0o600)
    async with operated(tmp_path, keys=file) as running:
        send = Sender(running, own)
        made = (await send("POST", "/operator/keys", json={"tenant": "anna"})).json()["key"]
        keys = (await send("GET", "/operator/administration")).json()["keys"]
        assert [(key["tenant"], key["operator"], key["own"]) for key in keys] == [
            ("acme", True, True),
            ("anna", False, False),
        ]
        assert made not in str(keys)
        assert made not in file.read_text()
        denied = await running.client.get("/operator/administration", headers=bearer(made))
        assert denied.status_code == 401
        assert (await send("DELETE", f"/operator/keys/{own.prefix}")).status_code == 422
        prefix = made.split("_")[1]
        assert len((await send("DELETE", f"/operator/keys/{prefix}")).json()["keys"]) == 1
        assert (await send("DELETE", f"/operator/keys/{prefix}")).status_code == 404
        assert (await send("POST", "/operator/keys", json={"tenant": 'a"b'})).status_code == 422
    assert LIMITS in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


class Sender:
    """Sends requests with a key."""

    def __init__(self, running: Operated, key: ApiKey) -> None:
        self._client, self._headers = running.client, bearer(key.text)

    async def __call__(self, method: str, path: str, json: object = None) -> httpx.Response:
        return await self._client.request(method, path, json=json, headers=self._headers)
