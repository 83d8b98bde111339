"""speech: presets of STT and TTS servers with OpenAI's API; no model code."""
