"""Seeds of named streams are fixed, distinct, and below 2^63."""

from core.random_streams import stream_seed


def test_stream_depends_on_the_seed_and_every_name() -> None:
    seeds = [
        stream_seed(1),
        stream_seed(2),
        stream_seed(1, "a"),
        stream_seed(1, "a", "b"),
        stream_seed(1, "ab"),
        stream_seed(11, "a"),
        stream_seed(1, "b"),
    ]

    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_stream_is_the_same_in_every_version() -> None:
    assert stream_seed(1, "subset", "mnist", "train") == 712439181296258552
