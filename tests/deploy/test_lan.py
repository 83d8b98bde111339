"""`loreglass serve --lan`: a certificate of its own, and a key for each device that was invited."""

import re
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from chassis.errors import Unauthorized
from chassis.startup import WrongSettings
from deploy.invitations import GOOD_FOR_S, Invitations
from deploy.lan import RENEW_BEFORE, VALID_FOR, Lan, MachineNames, OwnCertificate
from deploy.one_process import platform
from deploy.settings import LiteSettings
from gateway.serving.tenants import Keys
from gateway.settings import GatewaySettings

NOW = datetime(2026, 5, 1, tzinfo=UTC)
NAMES = MachineNames(("laptop", "laptop.local"), ("192.168.1.5",))


def certificate_of(folder: Path, now: datetime = NOW, names: MachineNames = NAMES) -> OwnCertificate:
    return OwnCertificate(folder, lambda: now, lambda: names)


def test_certificate_is_renewed_near_expiry_or_for_a_new_address(tmp_path: Path) -> None:
    certificate, nearly_over = certificate_of(tmp_path / "lan"), NOW + VALID_FOR - RENEW_BEFORE
    assert certificate.renew()
    first, key = certificate.fingerprint(), certificate.key_file.read_bytes()
    assert not certificate_of(tmp_path / "lan", nearly_over - timedelta(hours=1)).renew()
    assert certificate_of(tmp_path / "lan", nearly_over + timedelta(hours=1)).renew()
    assert certificate_of(tmp_path / "lan", names=MachineNames(NAMES.hosts, ("10.0.0.9",))).renew()
    assert certificate.fingerprint() != first
    assert certificate.key_file.read_bytes() == key
    assert certificate.key_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["certificate.pem", "key.pem"])
def test_a_broken_file_is_replaced(tmp_path: Path, name: str) -> None:
    certificate = certificate_of(tmp_path)
    certificate.renew()
    (tmp_path / name).write_text("no PEM")
    assert certificate.renew()
    certificate.load_into(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WrongSettings, match="file/lan: no certificate can be kept"):
        certificate_of(tmp_path / "file" / "lan").renew()


def invited(tmp_path: Path, clock: list[float]) -> tuple[Invitations, Path]:
    keys = tmp_path / "keys.toml"
    keys.touch(0o600)
    return Invitations(lambda: "https://192.168.1.5:7143", keys, lambda: clock[0]), keys


def token_of(url: str) -> str:
    return url.partition("#join=")[2]


def test_each_token_gives_one_key_and_its_own_tenant(tmp_path: Path) -> None:
    invitations, file = invited(tmp_path, [0.0])
    first, second = (invitations.accept(token_of(invitations.invite().url)) for _ in range(2))
    keys = Keys(file)
    tenants = {keys.caller(f"Bearer {key.text}", None).tenant for key in (first, second)}
    assert tenants == {f"device-{first.prefix}", f"device-{second.prefix}"}
    assert first.text not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


def test_used_expired_unknown_or_replaced_tokens_are_refused(
    tmp_path: Path,
) -> None:
    clock = [0.0]
    invitations, file = invited(tmp_path, clock)
    replaced, used, *_, late = (token_of(invitations.invite().url) for _ in range(9))
    invitations.accept(used)
    with pytest.raises(Unauthorized):
        invitations.accept(replaced)
    clock[0] = GOOD_FOR_S
    for token in (used, late, "", "ä"):
        with pytest.raises(Unauthorized):
            invitations.accept(token)
    assert len(re.findall("sha256", file.read_text())) == 1


async def test_a_phone_joins_by_the_code_and_then_asks_over_https(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    settings = LiteSettings(port=0, service_port=0, lan=True, lan_port=0, data_dir=tmp_path / "data")
    question, as_json = {"question": "Who wrote this book?"}, {"Content-Type": "application/json"}
    with capture_logs() as lines:
        async with platform(settings) as running:
            lan = running.lan
            assert lan is not None
            text = lan.description()
            port = lan.tls.listener.getsockname()[1]
            trust = ssl.create_default_context(cafile=lan.certificate.file)
            async with (
                httpx.AsyncClient(base_url=f"https://127.0.0.1:{port}", verify=trust, timeout=60) as phone,
                httpx.AsyncClient(base_url=running.gateway_url, timeout=60) as here,
            ):
                from_lan = {"X-Forwarded-For": "192.168.1.20"}  # a packet from there cannot be sent here
                stranger = await phone.post("/answer", json=question, headers=from_lan)
                [token] = re.findall(r"#join=(\S+)", text)
                joined = await phone.post("/devices/join", json={"token": token}, headers=from_lan)
                key = {"Authorization": f"Bearer {joined.json()['key']}", **from_lan}
                answered = await phone.post("/answer", json=question, headers=key)
                again = await phone.post("/devices/join", json={"token": token})
                operator = await phone.post("/operator/invitations", headers=key)
                local = await here.post("/answer", json=question)
                chat_client = {"Authorization": "Bearer sk-none-needed"}
                with_some_key = await here.post("/answer", json=question, headers=chat_client)
                odd = await here.post("/devices/join", content=b'{"token": "\\ud800"}', headers=as_json)
                invitation = await here.post("/operator/invitations")
                foreign = await here.post(
                    "/answer", json=question, headers={"Origin": "https://evil.example"}
                )
    assert (stranger.status_code, joined.status_code, answered.status_code) == (401, 201, 200)
    assert (again.status_code, operator.status_code, foreign.status_code) == (401, 401, 403)
    assert (local.status_code, with_some_key.status_code, invitation.status_code) == (200, 200, 201)
    assert odd.status_code in (401, 422)
    assert invitation.json()["code"].startswith("data:image/svg+xml")
    assert invitation.json()["fingerprint"] in text
    assert token not in str(lines)
    assert joined.json()["key"] not in str(lines)


def test_local_requests_need_an_operator_key_too(tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    keys.touch()
    settings = LiteSettings(lan=True, lan_port=0, data_dir=tmp_path)
    lan = Lan.open(settings, keys)
    lan.tls.listener.close()
    assert lan.settings(GatewaySettings(keys=keys)).local_without_key is False
    assert lan.settings(GatewaySettings()).local_without_key is True
