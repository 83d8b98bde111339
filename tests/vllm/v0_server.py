"""vLLM 0.10.2's own server and V0 engine, on a machine without a GPU: `python -m tests.vllm.v0_server FLAGS`.

0.10.2 serves Mllama on its V0 engine only, and V0 on the CPU not at all (`platforms/cpu.py`: "CPU backend
only supports V1."). What stands between is the executor, which runs the model. This one runs the same weights
by transformers, without paged attention; routes, chat template, checks, scheduler, logits processors, sampler
and detokenizer are vLLM's. So it tells what the server does with a request, and nothing of its speed.
"""

import sys
from typing import Any

import torch
import transformers
import uvloop
from vllm.entrypoints.openai.api_server import run_server
from vllm.entrypoints.openai.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.executor.executor_base import ExecutorBase
from vllm.model_executor.layers.logits_processor import _apply_logits_processors
from vllm.model_executor.layers.sampler import Sampler
from vllm.model_executor.sampling_metadata import SamplingMetadata
from vllm.utils import FlexibleArgumentParser

_BLOCKS = 4096
_DIMENSIONS = {"pixel_values": 6, "aspect_ratio_ids": 2, "aspect_ratio_mask": 3}
"""Of what the processor makes of photos, with the batch's; vLLM keeps them without."""


class TransformersExecutor(ExecutorBase):
    """Reads each prompt anew for each token: the model is tiny."""

    uses_ray = False

    def _init_executor(self) -> None:
        folder = self.model_config.model
        self._model = transformers.MllamaForConditionalGeneration.from_pretrained(folder).eval()
        self._sampler = Sampler()
        self._photos: dict[str, dict[str, torch.Tensor]] = {}
        self._generators: dict[str, torch.Generator] = {}

    def determine_num_available_blocks(self) -> tuple[int, int]:
        """As many as any test needs; nothing is kept in them."""
        return _BLOCKS, 0

    def initialize_cache(self, num_gpu_blocks: int, num_cpu_blocks: int) -> None:
        """What the scheduler counts with."""
        self.cache_config.num_gpu_blocks = num_gpu_blocks
        self.cache_config.num_cpu_blocks = num_cpu_blocks

    def collective_rpc(self, method: Any, timeout: Any = None, args: Any = (), kwargs: Any = None) -> Any:
        """There are no workers."""
        raise NotImplementedError(method)

    @property
    def supported_tasks(self) -> tuple[str, ...]:
        """What `vllm serve` asks."""
        return ("generate",)

    def check_health(self) -> None:
        """It lives in the server's process."""

    def shutdown(self) -> None:
        """Nothing is open."""

    @torch.no_grad()
    def execute_model(self, request: Any) -> list[Any]:
        """One token for each sequence."""
        groups = request.seq_group_metadata_list
        texts = [next(iter(group.seq_data.values())).get_token_ids() for group in groups]
        rows = [self._logits(group, text) for group, text in zip(groups, texts, strict=True)]
        lengths = [len(text) for text in texts]
        new = [length if group.is_prompt else 1 for group, length in zip(groups, lengths, strict=True)]
        how = SamplingMetadata.prepare(groups, lengths, new, "cpu", False, generators=self._generators)
        return [self._sampler(_apply_logits_processors(torch.stack(rows), how), how)]

    def _logits(self, group: Any, text: Any) -> torch.Tensor:
        if group.multi_modal_data:
            self._photos[group.request_id] = {
                name: _batched(group.multi_modal_data[name], dimensions)
                for name, dimensions in _DIMENSIONS.items()
            }
        photos = self._photos.get(group.request_id, {})
        logits: torch.Tensor = self._model(input_ids=torch.tensor([list(text)]), **photos).logits
        return logits[0, -1].float()


def _batched(values: Any, dimensions: int) -> torch.Tensor:
    tensor = values if torch.is_tensor(values) else torch.stack(list(values))
    while tensor.dim() < dimensions:
        tensor = tensor.unsqueeze(0)
    return tensor


def main(words: list[str]) -> None:
    """As `vllm serve`, with our executor."""
    arguments = make_arg_parser(FlexibleArgumentParser()).parse_args(words)
    validate_parsed_serve_args(arguments)
    arguments.distributed_executor_backend = TransformersExecutor
    uvloop.run(run_server(arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
