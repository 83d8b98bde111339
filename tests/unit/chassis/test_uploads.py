"""Bodies of many requests at one time: what they may hold together, and who gives way."""

from collections.abc import AsyncIterator

import httpx
import pytest

from chassis.errors import Overloaded
from chassis.http.connections import Upload, UploadBudget, address_of
from chassis.settings import AppSettings
from tests.live import live
from tests.unit.chassis.apps import Witness, kind_of, probe_app, until
from tests.virtual_time import ManualClock
from tests.wire import connection, head, read_reply

MIB = 2**20
HERE, THERE = "192.0.2.1", "192.0.2.2"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def budget(clock: ManualClock) -> UploadBudget:
    return UploadBudget(8 * MIB, 0.5, clock=clock)


def open_one(budget: UploadBudget, size: int, address: str = HERE) -> tuple[Upload, list[bool]]:
    """An upload, and what becomes true once it is asked to give up."""
    gave_up: list[bool] = []
    return budget.open(address, size, lambda: gave_up.append(True)), gave_up


def test_declared_body_size_is_reserved_and_released_once(budget: UploadBudget) -> None:
    upload, _ = open_one(budget, MIB)
    upload.receive(1000, more=True)
    assert budget.held_bytes == MIB
    upload.close()
    upload.close()
    assert budget.held_bytes == 0


def test_undeclared_body_is_counted_as_it_arrives(budget: UploadBudget) -> None:
    upload, _ = open_one(budget, 0)
    for _ in range(4):
        upload.receive(MIB, more=True)
    with pytest.raises(Overloaded):
        upload.receive(MIB, more=True)
    assert budget.held_bytes == 4 * MIB


def test_each_address_is_limited_to_its_share(budget: UploadBudget) -> None:
    open_one(budget, 4 * MIB)
    with pytest.raises(Overloaded) as caught:
        open_one(budget, 1)
    assert caught.value.retry_after_s
    open_one(budget, 4 * MIB, THERE)
    with pytest.raises(Overloaded):
        open_one(budget, 1, "192.0.2.3")
    assert budget.held_bytes == 8 * MIB


def test_stalled_upload_is_evicted_for_a_new_one(budget: UploadBudget, clock: ManualClock) -> None:
    uploads = [open_one(budget, 2 * MIB) for _ in range(2)]
    uploads[0][0].receive(MIB, more=True)
    clock.now += 1.5
    uploads[1][0].receive(MIB, more=True)
    clock.now += 1
    open_one(budget, 2 * MIB)
    assert [gave_up for _, gave_up in uploads] == [[True], []]
    assert budget.held_bytes == 4 * MIB
    uploads[0][0].receive(MIB, more=True)  # what was on its way when it gave up counts for nobody
    uploads[0][0].close()
    assert budget.held_bytes == 4 * MIB


def test_large_stalled_uploads_are_evicted_before_slow_ones(clock: ManualClock) -> None:
    """Of two addresses, all that there is; each body is one step ahead of standing still."""
    budget = UploadBudget(256 * MIB, 0.5, clock=clock)
    phone, phone_gave_up = open_one(budget, 3_000_000, "192.0.2.3")
    held = [open_one(budget, 31 * MIB, address) for address in (HERE, THERE) for _ in range(4)]
    for _ in range(8):
        clock.now += 1.9
        phone.receive(190_000, more=True)
        for upload, _ in held:
            upload.receive(66_000, more=True)
    open_one(budget, 8 * MIB, "192.0.2.4")
    assert [gave_up for _, gave_up in held].count([True]) == 1
    assert phone_gave_up == []


def test_complete_upload_is_not_evicted(budget: UploadBudget, clock: ManualClock) -> None:
    upload, gave_up = open_one(budget, 4 * MIB)
    upload.receive(4 * MIB, more=False)
    clock.now += 60
    with pytest.raises(Overloaded):
        open_one(budget, MIB)
    assert gave_up == []


def test_largest_allowed_body_fits_any_share() -> None:
    budget = UploadBudget(MIB, 0.1, largest_bytes=4 * MIB)
    open_one(budget, 4 * MIB)
    assert budget.held_bytes == 4 * MIB


@pytest.mark.parametrize(
    ("given", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("", ""),
        ("not:an:address", "not:an:address"),
    ],
)
def test_address_is_an_ipv4_host_or_an_ipv6_network(given: str, counted: str) -> None:
    assert address_of(given) == counted


@pytest.fixture
async def client(witness: Witness) -> AsyncIterator[httpx.AsyncClient]:
    settings = AppSettings(max_body_bytes=MIB, max_upload_bytes=2 * MIB)
    async with live(probe_app(witness, settings)) as made:
        yield made


async def test_incomplete_uploads_are_limited_and_freed_on_disconnect(
    client: httpx.AsyncClient, witness: Witness
) -> None:
    url = str(client.base_url)
    unfinished = head("POST", "/length", Content_Length=MIB) + b"x" * 1000
    async with connection(url) as first, connection(url) as second, connection(url) as third:
        await first.send(unfinished)
        await second.send(unfinished)
        await until(lambda: witness.metric("loreglass_upload_bytes") >= 2 * MIB)
        await third.send(unfinished)
        refused = await read_reply(third)
        assert kind_of(refused) == (503, "overloaded")
        assert int(refused.headers["retry-after"]) >= 1
    await until(lambda: witness.metric("loreglass_upload_bytes") == 0)
    assert (await client.post("/length", content=b"x" * MIB)).json() == {"bytes": MIB}


async def test_form_files_need_no_temporary_folder(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nowhere/at/all")
    reply = await client.post("/form", files={"file": b"x" * (MIB - 1_000)})
    assert reply.json() == {"bytes": MIB - 1_000}


def test_each_tenant_is_limited_across_addresses(clock: ManualClock) -> None:
    budget = UploadBudget(8 * MIB, clock=clock, share_per_tenant=0.5)
    budget.open(HERE, 3 * MIB, list, "acme")
    with pytest.raises(Overloaded):
        budget.open(THERE, 2 * MIB, list, "acme")
    budget.open(THERE, 3 * MIB, list, "bolt").close()
    budget.open(THERE, 5 * MIB, list)
    assert budget.held_bytes == 8 * MIB
