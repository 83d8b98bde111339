"""Checks the files of torch that pip has installed: `python -S requirements/torch_files.py REPORT`.

torch's dependencies differ between its builds, so pip resolves them, and no hash can be asked for beforehand.
A version with a local part (2.13.0+cpu) is of another index, which the user named: PyPI has none.
Of the standard library alone.
"""

import json
import sys
from pathlib import Path

from hashed import known

TORCH = ("torch", "torchvision")


def foreign_files(report: str, hashes: dict[str, str]) -> list[str]:
    """Return `name==version` of files from PyPI that are not the locked ones. `report`: pip's, JSON."""
    foreign = []
    for item in json.loads(report)["install"]:
        name, version = item["metadata"]["name"].lower(), item["metadata"]["version"]
        sha256 = item["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256", "")
        if name in TORCH and "+" not in version:
            locked = hashes.get(f"{name}=={version}", "").split()
            if f"--hash=sha256:{sha256}" not in locked:
                foreign.append(f"{name}=={version}")
    return foreign


def main(report: str) -> None:
    """The command."""
    hashes = known((Path(__file__).parent / "hashes.txt").read_text())
    if foreign := foreign_files(Path(report).read_text(), hashes):
        sys.exit(f"{', '.join(foreign)}: not the locked file. Remove it: pip uninstall {' '.join(TORCH)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
