"""A real llama.cpp server, with real small models, as the platform's language model.

`make test-real-models` compares the platform with the same model alone. `make test-llama` asks a tiny model
of random weights that sees photos. `make test` runs a short form if the server is built already.
"""
