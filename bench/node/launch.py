"""A node in processes of its own, whose services can be killed, stopped and started again."""

import signal
from collections.abc import Collection
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

import httpx

from bench.node.app import MODEL
from bench.node.pace import SERVICES, VLM
from bench.ports import free_ports
from bench.processes import PYTHON, Running, serving

_REST = "rest"
_CONTROL_S = 5.0


class Node:
    """Runs within `with`. Services named in `apart` get a process each; the others share one.

    Calls block while a process starts: do not use it in an event loop.
    """

    def __init__(self, pace: str = "instant", apart: Collection[str] = ()) -> None:
        if unknown := set(apart) - {*SERVICES, VLM}:
            raise ValueError(f"There is no service {min(unknown)}.")
        names = (_REST, *apart)
        self._pace = pace
        self._ports = dict(zip(names, free_ports(len(names)), strict=True))
        self._members: dict[str, tuple[AbstractContextManager[Running], Running]] = {}
        self._stopped: set[str] = set()

    def __enter__(self) -> Self:
        try:
            for name in self._ports:
                self._start(name)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process."""
        for name in list(self._members):
            self._end(name)

    @property
    def urls(self) -> dict[str, str]:
        """Return the address of each service."""
        return {name: self._url(name if name in self._ports else _REST) for name in (*SERVICES, VLM)}

    @property
    def gateway_environment(self) -> dict[str, str]:
        """Return the settings of a gateway in front of this node."""
        settings = {f"{name}_url": url for name, url in self.urls.items()}
        settings |= {"reasoning": "vlm", "vlm_model": MODEL}
        return {f"LOREGLASS_GATEWAY_{key.upper()}": value for key, value in settings.items()}

    def pid(self, service: str) -> int:
        """Return the process of a service that is apart."""
        return self._members[self._apart(service)][1].pid

    def kill(self, service: str) -> None:
        """Send SIGKILL to a service that is apart."""
        self._members[self._apart(service)][1].process.send_signal(signal.SIGKILL)
        self._end(service)

    def restart(self, service: str) -> None:
        """Start a killed service again on the same port."""
        self._start(self._apart(service))

    def stop(self, service: str) -> None:
        """Send SIGSTOP: the kernel goes on accepting connections."""
        self._members[self._apart(service)][1].process.send_signal(signal.SIGSTOP)
        self._stopped.add(service)

    def resume(self, service: str) -> None:
        """Send SIGCONT."""
        self._members[self._apart(service)][1].process.send_signal(signal.SIGCONT)
        self._stopped.discard(service)

    def received(self) -> dict[str, int]:
        """Return the requests of each service since its process started, without processes that are down."""
        totals: dict[str, int] = {}
        for name in self._members.keys() - self._stopped:
            counts = httpx.get(f"{self._url(name)}/node/counts", timeout=_CONTROL_S).json()
            mine = (name,) if name != _REST else counts.keys() - self._ports.keys()
            totals |= {service: counts[service]["received"] for service in mine}
        return totals

    def _url(self, name: str) -> str:
        return f"http://127.0.0.1:{self._ports[name]}"

    def _apart(self, service: str) -> str:
        if service not in self._ports:
            raise ValueError(f"{service} shares its process; name it in `apart`.")
        return service

    def _start(self, name: str) -> None:
        command = (*PYTHON, "bench.node", "--port={port}", f"--pace={self._pace}")
        opened = serving(*command, port=self._ports[name])
        self._members[name] = (opened, opened.__enter__())

    def _end(self, name: str) -> None:
        opened, _ = self._members.pop(name)
        opened.__exit__(None, None, None)
