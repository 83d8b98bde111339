"""People in numbers, as locust plays them: what they ask, and what must hold of the replies.

Only `wearer.py` and `bench/wearers/locustfile.py` import locust, which patches the process that imports it.
"""
