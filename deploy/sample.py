"""Where the frozen sample lies: photos, pages and questions for the demo, tests and benchmarks."""

from pathlib import Path

SAMPLE = Path(__file__).resolve().parents[1] / "samples"
"""In a checkout and in a wheel, beside `deploy`; in no container image."""
