"""Fleets in processes of their own, which can be killed, stopped and started again."""

import json
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx
from pydantic import TypeAdapter

from bench.fleet.switches import Mode, Switch
from bench.ports import free_ports
from bench.settings import ROOT, environment
from capacity.standins import SERVICES, Calibration

_CONTROL_S = 5.0


@dataclass(eq=False, slots=True)
class _Member:
    """One process and what it serves."""

    ports: Mapping[str, int]
    process: subprocess.Popen[str] | None = None
    control: str = ""
    stopped: bool = field(default=False)


class Fleet:
    """The stand-ins of one node. Those named in `apart` run in processes of their own.

    Only services in one process slow each other down as on one card. Not for use in an event loop: calls
    block while a process starts.
    """

    def __init__(
        self, calibration: Calibration | None = None, seed: int = 1, apart: Collection[str] = ()
    ) -> None:
        unknown = set(apart) - set(SERVICES)
        if unknown:
            raise ValueError(f"There is no service {min(unknown)}.")
        self._calibration = calibration or Calibration.l40s()
        self._seed = seed
        ports = dict(zip(SERVICES, free_ports(len(SERVICES)), strict=True))
        self.urls = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
        together = [name for name in SERVICES if name not in apart]
        groups = [*([together] if together else []), *([name] for name in SERVICES if name in apart)]
        self._members = [_Member({name: ports[name] for name in group}) for group in groups]

    def __enter__(self) -> Self:
        try:
            for member in self._members:
                self._start(member)
            for member in self._members:
                self._await(member)
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
        for member in self._members:
            self._end(member)

    @property
    def gateway_settings(self) -> dict[str, Any]:
        """Arguments of `GatewaySettings` for a gateway on this fleet."""
        urls = {f"{name}_url": url for name, url in self.urls.items()}
        return {**urls, "reasoning": "vlm", "vlm_model": self._calibration.model}

    @property
    def gateway_environment(self) -> dict[str, str]:
        """The same as environment variables."""
        return {
            f"LOREGLASS_GATEWAY_{key.upper()}": str(value) for key, value in self.gateway_settings.items()
        }

    def pid(self, service: str) -> int:
        """The process that serves `service`."""
        return self._running(self._member(service)).pid

    def kill(self, service: str) -> None:
        """SIGKILL, and its connections with it. The service must be apart."""
        self._end(self._alone(service))

    def stop(self, service: str) -> None:
        """SIGSTOP: the kernel goes on accepting connections. The service must be apart."""
        member = self._alone(service)
        self._running(member).send_signal(signal.SIGSTOP)
        member.stopped = True

    def resume(self, service: str) -> None:
        """SIGCONT."""
        member = self._alone(service)
        self._running(member).send_signal(signal.SIGCONT)
        member.stopped = False

    def restart(self, service: str) -> None:
        """A new process on the same port, once it listens; the old one is killed if it still runs."""
        member = self._alone(service)
        self._end(member)
        self._start(member)
        self._await(member)

    def switch(
        self, service: str, mode: Mode, *, factor: float = 1.0, share: float = 1.0, memory_mib: int = 0
    ) -> None:
        """Turn a switch; see `Mode`."""
        asked = Switch(service=service, mode=mode, factor=factor, share=share, memory_mib=memory_mib)
        url = f"{self._member(service).control}/fleet/switch"
        httpx.post(url, content=asked.model_dump_json(), timeout=_CONTROL_S).raise_for_status()

    def counts(self) -> dict[str, dict[str, float]]:
        """What became of each service's calls since its process started; those that are down are left out."""
        told: dict[str, dict[str, float]] = {}
        for member in self._members:
            if member.process is not None and not member.stopped:
                told |= httpx.get(f"{member.control}/fleet/counts", timeout=_CONTROL_S).json()
        return told

    def _member(self, service: str) -> _Member:
        return next(member for member in self._members if service in member.ports)

    def _alone(self, service: str) -> _Member:
        member = self._member(service)
        if len(member.ports) > 1:
            raise ValueError(f"{service} shares its process; name it in `apart`.")
        return member

    def _running(self, member: _Member) -> subprocess.Popen[str]:
        if member.process is None:
            raise ValueError(f"{', '.join(member.ports)}: the process does not run.")
        return member.process

    def _start(self, member: _Member) -> None:
        ports = [f"--port={name}={port}" for name, port in member.ports.items()]
        command = [sys.executable, "-m", "bench.fleet", "--attached", "--seed", str(self._seed)]
        member.process = process = subprocess.Popen(
            [*command, *ports, "--only", *member.ports],
            cwd=ROOT,
            env=environment({}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if process.stdin is None:
            raise RuntimeError("The process has no standard input.")
        process.stdin.write(TypeAdapter(Calibration).dump_json(self._calibration).decode() + "\n")
        process.stdin.flush()

    def _await(self, member: _Member) -> None:
        stdout = self._running(member).stdout
        line = stdout.readline() if stdout is not None else ""
        if not line:
            raise RuntimeError(f"{', '.join(member.ports)}: the process did not start.")
        member.control = json.loads(line)["control"]

    def _end(self, member: _Member) -> None:
        if member.process is None:
            return
        member.process.kill()
        member.process.wait()
        for pipe in (member.process.stdin, member.process.stdout):
            if pipe is not None:
                pipe.close()
        member.process, member.stopped = None, False
