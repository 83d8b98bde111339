"""How far long work is, for whoever shows it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

OnProgress = Callable[[str, int, int], None]
"""What is being done (`rows`; `images` inside the files; `photos` elsewhere), how much of it is done, of how
many (0: not known).
"""


def unseen(what: str, done: int, total: int) -> None:
    """Shows nothing."""


@contextmanager
def progress_bars() -> Iterator[OnProgress]:
    """A bar on standard error for each kind of work."""
    from tqdm import tqdm

    bars: dict[str, Any] = {}
    with ExitStack() as stack:

        def show(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = stack.enter_context(tqdm(desc=what, unit="", file=sys.stderr, leave=False))
            bars[what].total = total or None
            bars[what].update(done - bars[what].n)

        yield show
