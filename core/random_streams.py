"""Named random streams: what one part of a run draws never moves what another part draws."""

from hashlib import blake2b


def stream_seed(seed: int, *names: str) -> int:
    """The 63-bit seed of the named random stream."""
    key = "\0".join([str(seed), *names]).encode()
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big") >> 1
