"""Path of the frozen sample: photos, pages and questions for the demo, tests and benchmarks."""

from pathlib import Path

SAMPLE = Path(__file__).resolve().parents[1] / "samples"
"""Part of a checkout and of a wheel; container images do not have it."""
