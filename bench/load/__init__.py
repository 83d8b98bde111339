"""`make load`: simulated users of two platforms, and whether the objectives were met.

Only `locustfile.py` imports locust, which patches the process that imports it.
"""
