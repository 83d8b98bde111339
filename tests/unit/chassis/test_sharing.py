from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import sleep

from chassis.models.encoders import load_once


def test_threads_that_come_at_once_share_one_model() -> None:
    threads = 8
    all_here = Barrier(threads)

    @load_once
    def load() -> object:
        sleep(0.05)  # the others come meanwhile
        return object()

    def come(_: int) -> object:
        all_here.wait()
        return load()

    with ThreadPoolExecutor(threads) as pool:
        models = list(pool.map(come, range(threads)))
    assert len(set(map(id, models))) == 1
