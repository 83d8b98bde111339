"""Measures each model engine on this machine at its published size, with random weights.

`python -m deploy.gpu_stages` (`make bench-gpu`) writes `docs/gpu-stages.md`. Weights do not change how long a
forward pass takes, so nothing is downloaded. Needs torch, transformers, tokenizers, safetensors, Pillow and,
for its row, open_clip; no web framework.
"""
