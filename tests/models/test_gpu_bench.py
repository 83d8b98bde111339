"""The benchmark of the model engines runs whole, on tiny models."""

import pytest
import torch

from bench.gpu import ENGINES, main


def test_missing_gpu_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    assert main([]) == 2
    assert "No CUDA GPU" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_is_measured_on_the_cpu(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--device", "cpu", "--tiny", "--repeats", "1", "--only", engine]) == 0
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("| ")][
        1:
    ]
    if engine == "clip" and not rows[0][1].strip():
        pytest.skip(rows[0][0])  # open_clip does not import beside this torch
    assert all(float(row[2]) > 0 for row in rows)
