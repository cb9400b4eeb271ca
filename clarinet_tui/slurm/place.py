"""Where runs are trained."""

from enum import StrEnum


class Place(StrEnum):
    LOCAL = "local"
    SLURM = "slurm"
