"""vlm: no model code; presets that serve a vision-language model with vLLM, and a gate that waits for it."""
