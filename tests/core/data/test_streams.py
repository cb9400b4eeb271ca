"""Named streams are fixed, apart from each other, and small enough for every generator."""

from core.random_streams import stream


def test_a_stream_depends_on_the_seed_and_every_name() -> None:
    seeds = [
        stream(1),
        stream(2),
        stream(1, "a"),
        stream(1, "a", "b"),
        stream(1, "ab"),
        stream(11, "a"),
        stream(1, "b"),
    ]

    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_stream_never_changes_between_versions() -> None:
    assert stream(1, "subset", "mnist", "train") == 712439181296258552
