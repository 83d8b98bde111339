"""The VLM reasoner: prompts go to any OpenAI-compatible server; replies come back as one of our schemas."""
