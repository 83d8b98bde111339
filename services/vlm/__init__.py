"""vlm: no model code; presets that serve a vision-language model with vLLM."""
