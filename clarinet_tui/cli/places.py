"""Where runs and data are kept when nobody says."""

from pathlib import Path

RUNS = Path("runs")
DATA = Path("data")
