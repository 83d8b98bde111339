"""Training as published: data from evaluation runs, LoRA by SFT and GRPO, and the routers' heads."""
