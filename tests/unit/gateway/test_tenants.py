"""Tenants and their keys."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from chassis.errors import InvalidRequest, Unauthorized
from chassis.keys import ApiKey
from chassis.startup import WrongSettings
from clients.keys import Highest, entry
from gateway.serving.tenants import PUBLIC, Caller, Keys
from gateway.state import Priority
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import QUESTION, bearer, gateway_before, keys_file
from tests.unit.gateway.sessions.harness import ManualClock as Clock

INTERACTIVE, STANDARD, BACKGROUND = Priority
KEY = ApiKey.new()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A keys file with the key of one tenant."""
    path = tmp_path / "keys.toml"
    path.write_text(entry(KEY, "acme", "standard"))
    return path


def rewrite(path: Path, text: str) -> None:
    """Write it as an editor does: a new file in the place of the old one."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)


def authorization(key: ApiKey) -> str:
    return f"Bearer {key.text}"


@pytest.mark.parametrize(
    "header", [None, "Bearer sk-anything", pytest.param(authorization(KEY), id="a known key")]
)
def test_callers_without_a_keys_file_are_public(header: str | None) -> None:
    assert Keys(None).caller(header, None) == Caller(PUBLIC, INTERACTIVE)
    assert Keys(None).caller(header, "background") == Caller(PUBLIC, BACKGROUND)


@pytest.mark.parametrize(
    ("scheme", "wanted", "priority"),
    [
        *((scheme, None, STANDARD) for scheme in ("Bearer ", "bearer ", "BEARER   ")),
        *(("Bearer ", wanted, STANDARD) for wanted in ("interactive", "standard")),
        *(("Bearer ", wanted, BACKGROUND) for wanted in ("background", " Background ")),
    ],
)
def test_key_gives_tenant_and_highest_priority(
    file: Path, scheme: str, wanted: str | None, priority: Priority
) -> None:
    assert Keys(file).caller(scheme + KEY.text, wanted) == Caller("acme", priority)


@pytest.mark.parametrize("wanted", ["", "urgent", "interactive, background", "INTERACTIVE\x00"])
@pytest.mark.parametrize("with_file", [True, False])
def test_unknown_priority_is_an_invalid_request(file: Path, wanted: str, with_file: bool) -> None:
    with pytest.raises(InvalidRequest, match="interactive, standard, background"):
        Keys(file if with_file else None).caller(authorization(KEY), wanted)


def _one_char_off(text: str) -> str:
    return text[:-1] + ("A" if text[-1] != "A" else "B")


WRONG_KEYS: dict[str, str | None] = {
    "no header": None,
    "an empty key": "Bearer ",
    "no scheme": KEY.text,
    "another scheme": f"Basic {KEY.text}",
    "two keys": f"Bearer {KEY.text} {KEY.text}",
    "the prefix": f"Bearer {KEY.prefix}",
    "the digest for the secret": f"Bearer lg_{KEY.prefix}_{KEY.sha256}",
    "one character off": f"Bearer {_one_char_off(KEY.text)}",
    "beyond ASCII": "Bearer lg_" + "é" * 8 + "_" + "é" * 43,
    "very long": "Bearer " + "x" * 100_000,
    "an unknown key": authorization(ApiKey.new()),
}


@pytest.mark.parametrize("header", WRONG_KEYS.values(), ids=WRONG_KEYS)
def test_a_missing_or_wrong_key_is_refused_and_never_shown(file: Path, header: str | None) -> None:
    keys = Keys(file)
    with capture_logs() as logs, pytest.raises(Unauthorized) as raised:
        keys.caller(header, None)
    assert logs == []
    assert KEY.prefix not in raised.value.detail
    assert len(raised.value.detail) < 80


def test_revoked_key_is_refused_after_the_file_is_reread(file: Path) -> None:
    clock = Clock()
    keys = Keys(file, clock)
    rewrite(file, "")
    clock.now += 0.5
    assert keys.caller(authorization(KEY), None).tenant == "acme"
    clock.now += 0.6
    with pytest.raises(Unauthorized):
        keys.caller(authorization(KEY), None)


@pytest.mark.parametrize(
    "spoil", [lambda file: rewrite(file, "[[key]]\nprefix = 1"), lambda file: file.unlink()]
)
def test_invalid_keys_file_keeps_the_old_keys_and_warns(file: Path, spoil: Callable[[Path], None]) -> None:
    clock = Clock()
    keys = Keys(file, clock)
    spoil(file)
    clock.now += 2
    with capture_logs() as logs:
        for _ in range(3):
            assert keys.caller(authorization(KEY), None).tenant == "acme"
            clock.now += 2
    assert [each["event"] for each in logs] == ["keys_file_unusable"]


BAD_FILES = {
    "not TOML": f'sha256 = "{KEY.sha256}',
    "a field is missing": f'[[key]]\nprefix = "{KEY.prefix}"\nsha256 = "{KEY.sha256}"\ntenant = "acme"',
    "an unknown field": entry(KEY, "acme", "standard") + '\nexpires = "never"',
    "the key itself": entry(KEY, "acme", "standard").replace(KEY.sha256, KEY.text),
    "a prefix that is too long": entry(KEY, "acme", "standard").replace(KEY.prefix, KEY.prefix + "x"),
    "an unknown priority": entry(KEY, "acme", "urgent"),
    "a tenant that would break a key": entry(KEY, "acme:{x}", "standard"),
    "a prefix twice": entry(KEY, "acme", "standard") + "\n" + entry(KEY, "globex", "standard"),
}


@pytest.mark.parametrize("text", [None, *BAD_FILES.values()], ids=["not there", *BAD_FILES])
def test_an_unusable_file_is_one_clear_sentence_without_digests(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "keys.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(WrongSettings) as raised:
        Keys(path)
    message = str(raised.value)
    assert message.startswith(f"The keys file {path} ")
    assert message.endswith(".")
    assert "\n" not in message
    for secret in (KEY.sha256, KEY.text, KEY.prefix):
        assert secret not in message


def test_every_priority_can_have_a_key() -> None:
    assert [each.value for each in Highest] == [each.value for each in Priority]


def test_operator_keys_are_marked(tmp_path: Path) -> None:
    marked, file = ApiKey.new(), tmp_path / "keys.toml"
    file.write_text(f"{entry(KEY, 'acme', 'standard')}\n{entry(marked, 'acme', 'standard', operator=True)}")
    keys = Keys(file)
    assert [keys.caller(authorization(key), "background").operator for key in (KEY, marked)] == [False, True]
    file.write_text(entry(marked, "acme", "standard") + '\noperator = "yes"')
    with pytest.raises(WrongSettings, match="operator"):
        Keys(file)


ANNA, BERT = ApiKey.new(), ApiKey.new()


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return keys_file(tmp_path, anna=ANNA, bert=BERT)


NEED_A_KEY = (
    *("POST /answer", "POST /v1/chat/completions", "GET /v1/chat/completions", "GET /v1/models"),
    *("GET /v1/models/loreglass", "POST /v1/audio/speech", "POST /v1/audio/transcriptions"),
    *("GET /v1/memory", "POST /devices/photo-question", "GET /devices/photo-question/1", "GET /openapi.json"),
)
NEED_NONE = ("/", "/page/main.js", "/page/setup.json", "/health/live")


async def test_page_and_health_alone_need_no_key(services: FakeServices, keys: Path) -> None:
    async with gateway_before(services, keys=keys) as world:
        for method, path in map(str.split, NEED_A_KEY):
            reply = await world.client.request(method, path)
            problem = reply.json()
            assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer"), path
            assert problem["type"] == "urn:loreglass:problem:unauthorized"
            if path.startswith("/v1/"):
                assert problem["error"]["code"] == "unauthorized"
        for path in NEED_NONE:
            assert (await world.client.get(path)).status_code == 200
        for path in ("/v1/models", "/v1/models/loreglass", "/v1/chat/completions", "/openapi.json"):
            assert (await world.client.get(path, headers=bearer(ANNA))).status_code == 200
    assert services.ocr.calls == []


async def test_a_tenant_sees_no_session_or_trace_of_another(services: FakeServices, keys: Path) -> None:
    async with gateway_before(services, keys=keys) as world:
        sent: dict[str, Any] = {"json": {"question": QUESTION}, "headers": bearer(ANNA)}
        mine = (await world.client.post("/answer", **sent)).json()
        trace, session = f"/traces/{mine['trace_id']}", f"/sessions/{mine['session_id']}"
        assert (await world.client.get(trace, headers=bearer(BERT))).status_code == 404
        assert (await world.client.get(trace, headers=bearer(ANNA))).status_code == 200
        assert (await world.client.delete(session, headers=bearer(BERT))).status_code == 404
        again = await world.client.post(
            "/answer",
            files=[("question", (None, QUESTION)), ("session_id", (None, mine["session_id"]))],
            headers=bearer(BERT),
        )
        assert again.json()["type"] == "urn:loreglass:problem:session_not_found"
        assert (await world.client.delete(session, headers=bearer(ANNA))).status_code == 204
