"""Attacks in full size, each of which has stopped a platform of this kind."""

from collections.abc import Sequence

from rich.console import Console

from tests.attacks.target import Target


def run_killers(target: Target, names: Sequence[str] | None, console: Console) -> bool:
    """Each of them in turn."""
    return True
