"""A real llama.cpp with a tiny model of random weights that sees: the mechanics are real, the words noise.

`make test-llama` builds it from the sources in a Python package (ten minutes on two cores) and puts the
platform before it; `make test` leaves it out.
"""
