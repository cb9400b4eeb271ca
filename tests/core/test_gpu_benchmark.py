"""`make bench-gpu`: it ends well without a GPU, and its parts work on the CPU."""

import pytest
import torch

from benchmarks import gpu


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU: the benchmark would run")
def test_without_a_gpu_one_sentence_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    gpu.main([])
    assert capsys.readouterr().out == "No CUDA device: nothing was measured.\n"


def test_a_run_is_measured_after_its_first_iterations(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "WARMUP", 2)
    monkeypatch.setattr(gpu, "IMAGES", 40)
    config = gpu.make_config("clarinet", "M->U", 3, batch_size=4, threads=1, device="cpu")
    measured = gpu.measure(config, (28, 28, 1))
    assert measured.speed > 0
    assert measured.notices == ()
    monkeypatch.setattr(gpu, "run_at_once", lambda *arguments: [measured] * arguments[2])
    gpu.report(config, (28, 28, 1), [2])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[1] for line in lines] == [
        "eager",
        "CUDA graph",
        "self-check: a replay gives the numbers of the step",
        "2 runs, graphs",
    ]
    assert "×2.00" in lines[-1]


def test_operations_are_counted() -> None:
    counts = [gpu.count_operations(gpu.make_config("clarinet", "M->U", 3), shape) for _, shape in gpu.SHAPES.values()]
    assert 100 < counts[0] < counts[1] < 250
