"""What can be made to go wrong with a service, and the state in which each of them is."""

import random
from enum import StrEnum
from typing import Self

import anyio
from pydantic import BaseModel, ConfigDict, Field, model_validator

from capacity.standins import SERVICES


class Mode(StrEnum):
    """One fault at a time; `NORMAL` ends it."""

    NORMAL = "normal"
    SLOW = "slow"
    """A share of the calls takes `factor` times as long."""
    HANG = "hang"
    """A share of the calls is read and never answered."""
    FAIL = "fail"
    """A share of the calls gets 500 at once."""
    HALF_OPEN = "half_open"
    """Connections are accepted; nothing is read from them or sent, to calls under way neither."""
    RESET = "reset"
    """Connections are accepted and reset (RST), those that exist too."""
    MEMORY = "memory"
    """`/info` tells that the service has held `memory_mib` on the card."""


class Switch(BaseModel):
    """The body of `POST /fleet/switch`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    service: str
    mode: Mode
    factor: float = Field(default=1.0, ge=1)
    share: float = Field(default=1.0, ge=0, le=1)
    memory_mib: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _names_a_service(self) -> Self:
        if self.service not in SERVICES:
            raise ValueError(f"there is no service {self.service}")
        return self


class Line:
    """What a service's connections go through."""

    def __init__(self, seed: int, service: str) -> None:
        self.mode = Mode.NORMAL
        self._share = 1.0
        self._random = random.Random(f"{seed} {service} faults")
        self._passable = anyio.Event()
        self._passable.set()

    @property
    def is_cut(self) -> bool:
        """Nothing may be read or sent."""
        return self.mode is Mode.HALF_OPEN

    def turn(self, mode: Mode, share: float) -> None:
        """Another state, from now on."""
        self.mode, self._share = mode, share
        if self.is_cut and self._passable.is_set():
            self._passable = anyio.Event()
        elif not self.is_cut:
            self._passable.set()

    def hits(self, mode: Mode) -> bool:
        """Whether this call is one of those that the fault `mode` is for."""
        return self.mode is mode and self._random.random() < self._share

    async def passable(self) -> None:
        """Returns when something may be sent."""
        await self._passable.wait()
