"""Fetching from addresses that a stranger wrote."""

from collections.abc import Sequence

import pytest

from chassis.http.fetching import FetchFailed, FetchLimits, PublicFetcher, is_public
from tests.unit.chassis.picture_hosts import METADATA, Host, picture


def fetcher(**limits: float) -> PublicFetcher:
    """One for which this machine is public, and nothing else."""
    bounds = FetchLimits(
        max_bytes=int(limits.get("max_bytes", 20 * 2**20)), seconds=limits.get("seconds", 20.0)
    )
    return PublicFetcher(bounds, is_allowed=lambda address: address == "127.0.0.1" or is_public(address))


async def why(url: str, by: PublicFetcher | None = None) -> str:
    with pytest.raises(FetchFailed) as failure:
        await (by or fetcher()).fetch(url)
    return str(failure.value)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *("0.0.0.0", "224.0.0.1", "255.255.255.255", "198.18.0.1", "::", "::1", "fe80::1", "fe80::1%eth0"),
        *("fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"),
        *("2002:7f00:1::", "2001:db8::1", "fec0::1", "3fff::1", "5f00::1", "192.0.0.8", "192.88.99.1"),
        *("not an address", ""),
    ],
)
def test_non_public_addresses_are_refused(address: str) -> None:
    assert not is_public(address)
    for public in ("93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34"):
        assert is_public(public)


@pytest.mark.parametrize(
    ("path", "colour", "times"), [("/moved", "green", 1), ("/busy", "gold", 3)], ids=["redirect", "busy"]
)
async def test_redirects_and_retry_after_are_followed(host: Host, path: str, colour: str, times: int) -> None:
    assert await fetcher().fetch(host.url + path) == picture(colour)
    assert host.requests[path] == times


@pytest.mark.parametrize(
    "url", [METADATA, "http://[::1]:1/", "http://2130706433/", "http://0/", "http://localhost/"]
)
async def test_private_hosts_are_refused_in_any_notation(url: str) -> None:
    assert await why(url, PublicFetcher()) == "The host is not on the public internet."


async def test_unknown_names_and_names_with_a_private_address_are_refused() -> None:
    async def resolve(name: str, port: int) -> Sequence[str]:
        if name == "unknown.example":
            raise OSError("no such name")
        return ["93.184.216.34", "10.0.0.7"]

    patient = PublicFetcher(resolve=resolve)
    assert "public internet" in await why("http://pictures.example/a.jpg", patient)
    assert "leads nowhere" in await why("http://unknown.example/", patient)


async def test_connection_uses_the_checked_address(host: Host) -> None:
    """A name that is asked for twice could lead elsewhere the second time (DNS rebinding)."""
    hosts = []

    async def once(name: str, port: int) -> Sequence[str]:
        hosts.append(name)
        return ["127.0.0.1"] if len(hosts) == 1 else ["169.254.169.254"]

    patient = PublicFetcher(is_allowed=lambda address: address == "127.0.0.1", resolve=once)
    port = host.url.rpartition(":")[2]
    assert await patient.fetch(f"http://pictures.example:{port}/red.jpg") == picture("red")
    assert hosts == ["pictures.example"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        *((url, "URL") for url in ("", "red.jpg", "/etc/passwd", "file:///etc/passwd", "ftp://a.example/b")),
        *(("http://", "URL"), ("data:,x", "URL"), ("http://a.example/" + "x" * 5000, "longer")),
        ("http://127.0.0.1:1/a.jpg", "cannot be reached"),
    ],
)
async def test_invalid_urls_are_refused_with_a_sentence(url: str, words: str) -> None:
    assert words in await why(url)


@pytest.mark.parametrize(
    ("path", "words", "limits"),
    [
        ("/to-metadata", "public internet", {}),
        ("/to-file", "not an absolute http or https URL", {}),
        ("/loop", "more than 5 times", {}),
        ("/gone", "status 404", {}),
        ("/huge", "larger than 20 MiB", {}),
        ("/endless", "larger than 1 MiB", {"max_bytes": 2**20}),
        ("/refusing", "longer than 0.2 s", {"seconds": 0.2}),
        ("/drip", "longer than 0.2 s", {"seconds": 0.2}),
        ("/silent", "longer than 0.2 s", {"seconds": 0.2}),
    ],
)
async def test_misbehaving_hosts_are_refused_with_a_sentence(
    host: Host, path: str, words: str, limits: dict[str, float]
) -> None:
    assert words in await why(host.url + path, fetcher(**limits))
