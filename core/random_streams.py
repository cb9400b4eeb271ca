"""Named random streams, so that draws of one part of a run never change those of another."""

from hashlib import blake2b


def stream_seed(seed: int, *names: str) -> int:
    """Return the 63-bit seed of the named random stream."""
    key = "\0".join([str(seed), *names]).encode()
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big") >> 1
