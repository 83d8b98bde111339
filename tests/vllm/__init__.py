"""A real vLLM on the CPU, with tiny models of random weights: the mechanics are real, the words are noise.

`make test-vllm` installs it into an environment of its own and runs these tests; `make test` leaves them out.
"""
