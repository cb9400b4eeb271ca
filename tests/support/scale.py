"""Number of rounds of randomised tests: few in `make test`, many in `make soak`."""

import os

SOAK = bool(os.environ.get("CLARINET_SOAK"))


def rounds(few: int, many: int) -> int:
    return many if SOAK else few
