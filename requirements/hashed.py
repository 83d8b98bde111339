"""Prints locked requirements with the hashes of their files: `python requirements/hashed.py FILE…`.

`hashes.txt` holds each package once; the lists beside it say who installs what. Of the standard library
alone, because it runs before anything is installed. A package without a hash ends it with a sentence.
"""

import re
import sys
from pathlib import Path

_NAME = re.compile(r"[\w.-]+(?:\[[\w,-]+\])?==[^\s;\\]+")


def known(text: str) -> dict[str, str]:
    """`name==version` -> its `--hash=…` options."""
    entries = (line.partition(" --hash=") for line in text.splitlines())
    return {_pinned(line): f"--hash={options}" for line, _, options in entries if options}


def hashed(requirements: str, hashes: dict[str, str]) -> list[str]:
    """The same lines, each with its hashes. Raises `KeyError` for one that has none."""
    lines = (line.split("#")[0].strip() for line in requirements.splitlines())
    return [f"{line} {hashes[_pinned(line)]}" for line in lines if line]


def _pinned(line: str) -> str:
    match = _NAME.match(line)
    return re.sub(r"\[.*\]", "", match[0]) if match else line


def main(names: list[str]) -> None:
    """The command."""
    hashes = known((Path(__file__).parent / "hashes.txt").read_text())
    try:
        lines = [line for name in names for line in hashed(Path(name).read_text(), hashes)]
        sys.stdout.write("\n".join(lines) + "\n")
    except KeyError as error:
        sys.exit(f"{error.args[0]} has no hash in requirements/hashes.txt: make lock writes it.")


if __name__ == "__main__":
    main(sys.argv[1:])
