"""`python -m chassis.make_tokens FILE…`: a random token in each file that is not there yet."""

import os
import secrets
import sys
import tempfile
from pathlib import Path


def make(path: Path) -> None:
    """Whole or not at all, also when the power fails; a token that is there stays."""
    with tempfile.NamedTemporaryFile(dir=path.parent) as file:
        file.write(secrets.token_hex(32).encode())
        file.flush()
        os.fchmod(file.fileno(), 0o400)
        os.fsync(file.fileno())
        try:
            os.link(file.name, path)
        except FileExistsError:
            return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        make(Path(name))
