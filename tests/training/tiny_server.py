"""`python -m tests.training.tiny_server FOLDER --port N`: a tiny model behind OpenAI's API, on a processor.

It is transformers' own server, for which a model need not have vLLM's shapes. What is trained in earnest is
served by vLLM: `python -m services.vlm --model FOLDER`.
"""

from pathlib import Path
from typing import Annotated

import typer

from training.commands.train import require


def serve(
    folder: Annotated[Path, typer.Argument(help="as `train merge` or `tests.training.tiny_models` write it")],
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
) -> None:
    """Serve the model of FOLDER on this machine, under the name of its folder, until it is told to stop."""
    require("torch", "torchvision", "transformers", "fastapi", "openai", "uvicorn")
    from transformers import image_processing_backends
    from transformers.cli.serve import Serve
    from transformers.cli.serving.model_manager import ModelManager
    from transformers.image_utils import load_image

    # It lists what lies in the hub's cache, where this folder does not, and reads photos by torchvision's own
    # operators, which a build of torch need not fit.
    listed = [{"id": str(folder), "object": "model"}]
    ModelManager.get_gen_models = staticmethod(lambda: listed)
    image_processing_backends.load_image_as_tensor = load_image
    Serve(str(folder), host="127.0.0.1", port=port, log_level="error")


if __name__ == "__main__":
    typer.run(serve)
