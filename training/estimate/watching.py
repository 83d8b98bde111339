"""Counts what a computation holds in memory and how much it computes, whether its tensors are real or not."""

import weakref
from collections.abc import Iterable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry, sdpa_flop_count


class Watched(TorchDispatchMode):  # type: ignore[misc]  # no types are read
    """A `with` block whose tensors are counted: `held` and `peak` in bytes, `flops` of matrix products.

    A tensor counts from the operation that made it until its storage is freed.
    """

    def __init__(self, already: Iterable[Tensor] = ()) -> None:
        super().__init__()
        self.held = self.peak = self.flops = 0
        self._known: set[int] = set()
        for tensor in already:
            self._count(tensor)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Every operation comes through here."""
        made = func(*args, **(kwargs or {}))
        for each in tree_leaves(made):
            if isinstance(each, Tensor):
                self._count(each)
        self.flops += _flops(func, args, kwargs or {}, made)
        return made

    def _count(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        place, size = storage._cdata, storage.nbytes()
        if place in self._known:
            return
        self._known.add(place)
        self.held += size
        self.peak = max(self.peak, self.held)
        weakref.finalize(storage, self._freed, place, size)

    def _freed(self, place: int, size: int) -> None:
        self._known.discard(place)
        self.held -= size


def _flops(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], made: Any) -> int:
    """By torch's own formulas; it has none for attention on the processor, which is as anywhere else."""
    name = func._overloadpacket.__name__
    if name == "_scaled_dot_product_flash_attention_for_cpu":
        return int(sdpa_flop_count(*(each.shape for each in args[:3])))
    if name == "_scaled_dot_product_flash_attention_for_cpu_backward":
        return int(2.5 * sdpa_flop_count(*(each.shape for each in args[1:4])))
    formula = flop_registry.get(func._overloadpacket)
    return int(formula(*args, **kwargs, out_val=made)) if formula else 0
