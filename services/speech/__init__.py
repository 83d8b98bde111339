"""speech: no model code; presets of servers that hear and speak in OpenAI's shapes."""
