"""How often what is left to chance is tried: a little in every test, much in `make soak`."""

import os

SOAK = bool(os.environ.get("CLARINET_SOAK"))


def rounds(few: int, many: int) -> int:
    return many if SOAK else few
