"""People in numbers, as locust plays them: what they ask, and what must hold of the replies.

Only `wearer.py` and `tests/load/locustfile.py` import locust, which patches the process that imports it.
"""
