"""`python -m deploy.gpu_stages [--only NAME ...] [--device cpu --tiny]`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

PAGE = Path("docs/gpu-stages.md")
NAMES = ("clip", "bge", "grounding_dino", "qformer", "qwen3", "reader", "vlm")
CANNOT_MEASURE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 2 where there is nothing to measure on."""
    options = _options(arguments)
    try:
        import torch
    except ModuleNotFoundError:
        return _refuse("torch is not installed: pip install -c constraints.txt '.[models]'.")
    if options.device == "cpu" and not options.tiny:
        return _refuse("At published sizes the CPU takes minutes a stage: add --tiny, or use a GPU.")
    if options.device != "cpu" and not torch.cuda.is_available():
        return _refuse("torch finds no CUDA GPU here; `--device cpu --tiny` tries the script itself.")
    text = _measure(options)
    output: Path | None = options.output or (None if options.tiny else PAGE)
    if output is None:
        print(text, end="")  # noqa: T201
    else:
        output.write_text(text, "utf-8")
        print(f"Written: {output}")  # noqa: T201
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m deploy.gpu_stages", description=__doc__)
    parser.add_argument("--device", default="auto", help="auto, cuda, cuda:N or cpu")
    parser.add_argument("--dtype", default="auto", choices=["auto", "float32", "bfloat16", "float16"])
    parser.add_argument("--tiny", action="store_true", help="small models: the figures mean nothing")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--warm-ups", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help=f"{PAGE}, or the terminal with --tiny")
    options = parser.parse_args(arguments)
    if options.repeats < 1 or options.warm_ups < 0:
        parser.error("--repeats must be at least 1, --warm-ups at least 0")
    return options


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)  # noqa: T201
    return CANNOT_MEASURE


def _measure(options: argparse.Namespace) -> str:
    from chassis.accelerator import Placement
    from deploy.gpu_stages.measuring import Effort
    from deploy.gpu_stages.running import Request, measured_page  # torch, so that a refusal is quick

    placement = Placement(options.device, options.dtype)
    effort = Effort(options.warm_ups, options.repeats)
    return measured_page(Request(placement, options.tiny, options.only, effort, options.seed))


if __name__ == "__main__":
    sys.exit(main())
