"""An operator chooses a risk, and makes and revokes keys; the keys file is changed in place."""

from pathlib import Path

import pytest

from chassis.errors import CollectionConflict, DependencyUnavailable, NotFound
from chassis.keys import ApiKey
from clients.keys import entry
from deploy.administration import KeysFileEditor, RiskChoice
from gateway.settings import GatewaySettings
from gateway.state import Priority
from gateway.thresholds import Risk
from tests.deploy.operating import operated

LIMITS = '[[tenant]]  # a note\nname = "acme"\nin_flight = 3\n'


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


async def test_risk_from_the_environment_is_read_only_and_keys_need_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOREGLASS_GATEWAY_RISK", "eager")
    async with operated(tmp_path) as running:
        state = (await running.client.get("/operator/administration")).json()
        assert (state["risk"], state["risk_is_set"], state["keys"]) == ("eager", True, None)
        assert (await running.client.put("/operator/risk", json={"risk": "careful"})).status_code == 422
        refused = await running.client.post("/operator/keys", json={"tenant": "anna"})
        assert "LOREGLASS_GATEWAY_KEYS" in refused.json()["detail"]


async def test_keys_are_made_shown_once_and_revoked(tmp_path: Path) -> None:
    own, file = ApiKey.new(), tmp_path / "keys.toml"
    file.write_text(f"# ours\n{LIMITS}\n{entry(own, 'acme', 'interactive', operator=True)}\n")
    file.chmod(0o600)
    async with operated(tmp_path, keys=file) as running:
        running.client.headers["Authorization"] = f"Bearer {own.text}"
        send = running.client.request
        made = (await send("POST", "/operator/keys", json={"tenant": "anna"})).json()["key"]
        keys = (await send("GET", "/operator/administration")).json()["keys"]
        assert [(key["tenant"], key["operator"], key["own"]) for key in keys] == [
            ("acme", True, True),
            ("anna", False, False),
        ]
        assert made not in str(keys)
        assert made not in file.read_text()
        wearer = {"Authorization": f"Bearer {made}"}
        denied = await send("GET", "/operator/administration", headers=wearer)
        assert denied.status_code == 401
        assert (await send("DELETE", f"/operator/keys/{own.prefix}")).status_code == 422
        prefix = made.split("_")[1]
        assert len((await send("DELETE", f"/operator/keys/{prefix}")).json()["keys"]) == 1
        assert (await send("DELETE", f"/operator/keys/{prefix}")).status_code == 404
        assert (await send("POST", "/operator/keys", json={"tenant": 'a"b'})).status_code == 422
    assert LIMITS in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


FIRST, SECOND = ApiKey.new(), ApiKey.new()


def test_other_keys_notes_and_tenants_stay(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    notes = '# who: [us]\n[[tenant]]\nname = "acme"  # [[key]]\nin_flight = 2\n\n'
    first, second = entry(FIRST, "acme", "standard"), entry(SECOND, "b", "standard")
    file.write_text(f"{notes}{first}\n# the second\n{second}")
    editor = KeysFileEditor(file)
    third = editor.add("c", Priority.BACKGROUND, operator=True)
    editor.revoke(SECOND.prefix)
    entries = [(each.prefix, each.operator) for each in editor.entries()]
    assert entries == [(FIRST.prefix, False), (third.prefix, True)]
    assert file.read_text().startswith(notes)


def test_keys_file_with_inline_tables_is_not_edited(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    keys = [", ".join(entry(each, "a", "standard").splitlines()[1:]) for each in (FIRST, SECOND)]
    file.write_text(f"key = [{{{keys[0]}}}, {{{keys[1]}}}]\n")
    before = file.read_text()
    with pytest.raises(CollectionConflict):
        KeysFileEditor(file).revoke(FIRST.prefix)
    with pytest.raises(CollectionConflict):
        KeysFileEditor(file).add("b", Priority.STANDARD, operator=False)
    assert file.read_text() == before


def test_unknown_key_or_unreadable_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text("")
    with pytest.raises(NotFound):
        KeysFileEditor(file).revoke(FIRST.prefix)
    file.write_text("[[key]]\nprefix = 3\n")
    with pytest.raises(DependencyUnavailable):
        KeysFileEditor(file).entries()
