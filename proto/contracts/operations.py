"""What every app tells its operators: liveness, readiness, and what it is."""

from contracts.message import Message


class Health(Message):
    """`status` is `ok` or `unavailable`; `checks` names what was exercised and how it went."""

    status: str
    checks: dict[str, str] = {}


class Info(Message):
    """What a service runs on (the shape of TEI's /info, reduced).

    `takes`: what its searches may be made by, where that depends on the engine: `image`, `text`.
    `memory_mib`: its share of the GPU; `memory_peak_mib`: the most it has held there; 0 on the CPU.
    `model`: what the gateway's probe found the model's server to do, by name; empty before it, and elsewhere.
    """

    service: str
    version: str
    engine: str
    device: str = "cpu"
    dtype: str = ""
    memory_mib: int = 0
    memory_peak_mib: int = 0
    takes: list[str] = []
    model: dict[str, str] = {}
