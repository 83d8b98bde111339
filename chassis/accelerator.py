"""The device of a model, its number type, and the service's share of the card's memory.

Runs in a bare torch environment; torch is imported when an accelerator is opened, not before.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chassis.startup import NoDevice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Placement:
    """Settings. `device`: auto, cpu, cuda or cuda:N; `dtype`: auto, float32, bfloat16 or float16.

    `memory_share`: of the card's memory, 0 to 1; an allocation beyond it fails in this service only.
    """

    device: str = "auto"
    dtype: str = "auto"
    memory_share: float = 1.0


@dataclass(frozen=True, slots=True)
class Accelerator:
    """The device in use. `memory_bytes`: the service's share of the card, 0 on the CPU."""

    device: str
    dtype: str
    memory_bytes: int = 0

    @property
    def torch_dtype(self) -> Any:
        """The `torch.dtype` that `dtype` names."""
        import torch

        return getattr(torch, self.dtype)

    def to_numpy(self, tensor: Any) -> "NDArray[np.float32]":
        """A model's output on the host, float32.

        Raises `FloatingPointError` for what is no number: it would rank as nothing, without a word.
        """
        import numpy as np

        values: NDArray[np.float32] = tensor.float().cpu().numpy()
        if not np.isfinite(values).all():
            raise FloatingPointError(f"The model gave values that are no numbers, computing in {self.dtype}.")
        return values

    def peak_memory_bytes(self) -> int:
        """The most that torch has held on the device so far; 0 on the CPU."""
        if self.device == CPU:
            return 0
        import torch

        return int(torch.cuda.max_memory_reserved(self.device))


def open_accelerator(placement: Placement) -> Accelerator:
    """Choose device and number type (bfloat16 on a GPU, float32 on the CPU) and cap the memory.

    Raises `NoDevice` when a GPU is asked for that is not there.
    """
    import torch

    device = placement.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else CPU
    if device == CPU:
        return Accelerator(CPU, "float32" if placement.dtype == "auto" else placement.dtype)
    if not torch.cuda.is_available():
        raise NoDevice(f"The device {device!r} is asked for, but torch finds no GPU here.")
    index = torch.device(device).index or 0
    count = torch.cuda.device_count()
    if index >= count:
        raise NoDevice(f"The device {device!r} is asked for, but torch finds {count} GPUs here.")
    torch.cuda.set_per_process_memory_fraction(placement.memory_share, index)
    total = torch.cuda.get_device_properties(index).total_memory
    dtype = "bfloat16" if placement.dtype == "auto" else placement.dtype
    return Accelerator(f"cuda:{index}", dtype, int(total * placement.memory_share))
