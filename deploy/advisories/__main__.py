"""`python -m deploy.advisories`, or `make audit`: fails on an advisory that nobody has looked at.

OSV (https://google.github.io/osv.dev/api) is asked, which collects what PyPA, GitHub and Bitnami tell. What
is known and cannot be mended stands in `accepted.toml`, with the reason.
"""

import argparse
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table

from deploy.advisories.locked import Package, packages

_ROOT = Path(__file__).resolve().parents[2]
_ACCEPTED = Path(__file__).with_name("accepted.toml")
_OSV = "https://api.osv.dev"
_AT_ONCE = 500
"""OSV takes a thousand."""
_SECONDS = 60.0

Advisories = Mapping[Package, Sequence[frozenset[str]]]
"""Of each package those that apply, each by all of its names."""


def main(argv: Sequence[str] | None = None) -> None:
    """The command. Exits with 1 where something is to be done, with 2 where OSV could not be asked."""
    parser = argparse.ArgumentParser(prog="python -m deploy.advisories")
    parser.add_argument("--osv", default=_OSV, help="another server of its API (%(default)s)")
    arguments = parser.parse_args(argv)
    locked = packages(_ROOT)
    accepted = {
        (each["package"], each["id"]): each["why"]
        for each in tomllib.loads(_ACCEPTED.read_text(encoding="utf-8"))["accepted"]
    }
    try:
        with httpx.Client(base_url=arguments.osv, timeout=_SECONDS) as http:
            found = advisories(http, locked)
    except httpx.HTTPError as error:
        sys.stderr.write(f"{arguments.osv} cannot be asked ({type(error).__name__}): nothing was checked.\n")
        sys.exit(2)
    sys.exit(1 if told(found, accepted, len(locked), Console()) else 0)


def advisories(http: httpx.Client, locked: Sequence[Package]) -> Advisories:
    """What OSV knows of them. Raises `httpx.HTTPError`."""
    found: dict[Package, list[frozenset[str]]] = {}
    for batch in _batches(locked):
        asked = [(package, "") for package in batch]
        while asked:  # a long list comes in pages
            queries = [_query(package, token) for package, token in asked]
            results = _json(http.post("/v1/querybatch", json={"queries": queries}))["results"]
            following = []
            for (package, _), result in zip(asked, results, strict=True):
                for vulnerability in result.get("vulns", ()):
                    found.setdefault(package, []).append(_names(http, vulnerability["id"]))
                if token := result.get("next_page_token"):
                    following.append((package, token))
            asked = following
    return found


def told(found: Advisories, accepted: Mapping[tuple[str, str], str], count: int, console: Console) -> bool:
    """Prints what there is; whether anything is to be done."""
    table = Table("package", "version", "advisory", "why it stays")
    seen, open_ = set[tuple[str, str]](), 0
    for package, names in sorted((package, names) for package, several in found.items() for names in several):
        reasons = {key: accepted[key] for name in names if (key := (package.name, name)) in accepted}
        seen |= reasons.keys()
        open_ += not reasons
        why = next(iter(reasons.values()), "[red]nobody has looked at it[/]")
        table.add_row(package.name, package.version, " ".join(sorted(names)), why)
    if table.row_count:
        console.print(table)
    for name, advisory in sorted(accepted.keys() - seen):
        console.print(f"{advisory} no longer applies to {name}: take it out of accepted.toml.")
    console.print(f"{count} packages, {len(accepted)} advisories accepted, {open_} to look at.")
    return bool(open_ or accepted.keys() - seen)


def _batches(locked: Sequence[Package]) -> Iterator[list[Package]]:
    rest = iter(locked)
    while batch := list(islice(rest, _AT_ONCE)):
        yield batch


def _query(package: Package, token: str) -> dict[str, object]:
    named = {"package": {"ecosystem": package.ecosystem, "name": package.name}, "version": package.version}
    return {**named, **({"page_token": token} if token else {})}


def _names(http: httpx.Client, advisory: str) -> frozenset[str]:
    return frozenset((advisory, *_json(http.get(f"/v1/vulns/{advisory}")).get("aliases", ())))


def _json(response: httpx.Response) -> Any:
    return response.raise_for_status().json()


if __name__ == "__main__":
    main()
