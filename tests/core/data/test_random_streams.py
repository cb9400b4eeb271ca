"""Seeds of named streams are fixed, distinct, and below 2^63."""

from core.random_streams import stream_seed


def test_stream_depends_on_the_seed_and_every_name() -> None:
    streams: list[tuple[int, *tuple[str, ...]]] = [(1,), (2,), (1, "a"), (1, "a", "b"), (1, "ab"), (11, "a"), (1, "b")]
    seeds = [stream_seed(*stream) for stream in streams]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_stream_is_the_same_in_every_version() -> None:
    assert stream_seed(1, "subset", "mnist", "train") == 712439181296258552
