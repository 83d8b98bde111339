"""The versions of an embedded store: opened when first asked for, set aside where they are broken."""

import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path

import structlog

from chassis.errors import DependencyUnavailable, LoreglassError
from chassis.resilience.room import Room
from chassis.vectors.checked import Damaged
from chassis.vectors.names import is_collection_name, not_found
from chassis.vectors.seal import read_seal
from chassis.vectors.version_folders import SetAside, Version, open_version, opening_errors

log = structlog.get_logger()

START_S = 15.0
"""A start waits so long for what is published; a probe of a container gives up after 90 s."""
_WAIT_S = 10.0
"""Calls wait so long from the beginning of an attempt to open a version."""
CONTENTS_S = 5.0
"""Contents are compared so long before a version is opened; the rest of them after it."""
_RETRY_S = 60.0


class OpenVersions:
    """Threads of its own open versions and read them, so that no caller waits for a long reading.

    `changed` is called when a version is gone because it was broken.
    """

    def __init__(
        self,
        folder: Path,
        room: Room,
        set_aside: SetAside,
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._room, self._set_aside, self._changed = folder, room, set_aside, changed
        self._clock = clock
        self._open: dict[str, Version] = {}
        self._broken: set[str] = set()
        self._unopened: dict[str, tuple[str, float]] = {}
        self._attempts: dict[str, tuple[Future[Version], float]] = {}
        self._comparing: set[str] = set()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._opener = ThreadPoolExecutor(2, thread_name_prefix="opening")
        self._comparer = ThreadPoolExecutor(1, thread_name_prefix="comparing")

    def exists(self, name: str) -> bool:
        """Whether there is such a version, as far as is known whole."""
        return is_collection_name(name) and name not in self._broken and (self._folder / name).is_dir()

    def open_published(self, names: Collection[str]) -> None:
        """Open what readers see, at a start. What takes longer than that goes on afterwards."""
        until = self._clock() + START_S
        attempts = []
        for name in filter(self.exists, names):
            try:
                attempts.append((name, self._attempt(name, published=True)[0]))
            except LoreglassError as error:
                log.warning("collection_not_opened", collection=name, reason=error.detail)
        for name, attempt in attempts:
            try:
                attempt.result(max(0.0, until - self._clock()))
            except TimeoutError:
                log.warning("collection_still_read", collection=name)
            except LoreglassError:  # logged where it was opened
                continue

    def get(self, name: str) -> Version:
        """Raises `CollectionNotFound`, or `DependencyUnavailable` for what cannot be opened now."""
        opened = self._open.get(name)
        if opened is not None:
            return opened
        attempt, begun = self._attempt(name)
        try:
            return attempt.result(max(0.0, begun + _WAIT_S - self._clock()))
        except (TimeoutError, CancelledError):
            raise DependencyUnavailable(
                "A collection is read before it is opened; ask again in a minute."
            ) from None

    def _attempt(self, name: str, *, published: bool = False) -> tuple[Future[Version], float]:
        with self._lock:
            if name in self._open:
                done: Future[Version] = Future()
                done.set_result(self._open[name])
                return done, self._clock()
            if not self.exists(name):
                raise not_found(name)
            if name not in self._attempts:
                reason, failed = self._unopened.get(name, ("", -_RETRY_S))
                if reason and self._clock() < failed + _RETRY_S:
                    raise DependencyUnavailable(reason)
                try:
                    begun = self._clock()
                    self._attempts[name] = self._opener.submit(self._opened, name, published), begun
                except RuntimeError as error:  # no thread can be started
                    raise DependencyUnavailable("A collection cannot be opened now.") from error
            return self._attempts[name]

    def _opened(self, name: str, published: bool) -> Version:
        folder, until = self._folder / name, self._clock() + CONTENTS_S
        try:
            version = open_version(
                folder,
                self._room,
                self._stopping,
                lambda: self._clock() > until or self._stopping.is_set(),
                published=published,
            )
        except Damaged as error:
            self._break(name, str(error))
            raise not_found(name) from error
        except LoreglassError as error:
            log.warning("collection_not_opened", collection=name, reason=error.detail)
            with self._lock:
                self._unopened[name] = (error.detail, self._clock())
                self._attempts.pop(name, None)
            raise
        with self._lock:
            self._open[name] = version
            self._unopened.pop(name, None)
            self._attempts.pop(name, None)
        if not version.compared:
            self._comparing.add(name)
            self._comparer.submit(self._compare, name, version)
        return version

    def _compare(self, name: str, version: Version) -> None:
        """Read the contents of a version that is used already."""
        seal = read_seal(version.folder)
        try:
            with opening_errors():
                if seal is not None:
                    seal.check_contents(version.folder, lambda: self._stopping.is_set() or not version.sealed)
        except Damaged as error:
            # One that was written to since it was opened, or dropped, is no longer what its seal says.
            if version.sealed and read_seal(version.folder) == seal:
                self._break(name, str(error))
        except LoreglassError as error:
            log.warning("collection_not_compared", collection=name, reason=error.detail)
        finally:
            self._comparing.discard(name)

    def _break(self, name: str, reason: str) -> None:
        with self._lock:
            self._open.pop(name, None)
            self._attempts.pop(name, None)
            if (self._folder / name).is_dir():  # it may have been dropped meanwhile
                self._broken.add(name)
                if self._set_aside.take(self._folder / name, reason):
                    self._broken.discard(name)  # its name is free again
        self._changed()

    def remove(self, name: str, trash: Path) -> None:
        """Move a version away. Who searches it keeps its open files."""
        with self._lock:
            (self._folder / name).rename(trash)
            self._open.pop(name, None)
            self._unopened.pop(name, None)

    def let_go(self, version: Version) -> None:
        """Open it anew when it is asked for again."""
        with self._lock:
            if self._open.get(version.folder.name) is version:
                del self._open[version.folder.name]

    def unopened(self) -> dict[str, str]:
        """Those that could not be opened, or not yet, with the reason."""
        reading = {name: "It is read before it is opened." for name in list(self._attempts)}
        return reading | {name: reason for name, (reason, _) in list(self._unopened.items())}

    def notes(self) -> list[str]:
        """A sentence for each that is not as it should be."""
        return [
            *(
                f"{name} is not open: {reason} It is tried at most once a minute, when it is asked for."
                for name, reason in self.unopened().items()
            ),
            *(f"The contents of {name} are still compared." for name in list(self._comparing)),
        ]

    def close(self) -> None:
        """Stop what is being read, and close what is open."""
        self._stopping.set()
        self._opener.shutdown(cancel_futures=True)
        self._comparer.shutdown(cancel_futures=True)
        with self._lock:
            for version in self._open.values():
                with version.writing:
                    version.shard.flush()
                    version.shard.close()
            self._open.clear()
