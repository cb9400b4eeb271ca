"""Pictures as characters, side by side."""

import numpy as np

from clarinet_tui.chart.picture import picture_grid


def test_pictures_are_side_by_side_above_their_captions() -> None:
    black, white = np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 255, np.uint8)
    pictures = [(black, ("cat",)), (white, ("a very long name of a class",)), (black, ("dog\x1b[31m", "90 %"))]
    lines = picture_grid(pictures, 20, colour=False, columns=8, rows=4).plain.splitlines()
    assert lines[:4] == [" " * 10 + "@" * 8] * 4
    assert lines[4] == "cat       a very …"
    assert [line.strip() for line in lines[6:10]] == [""] * 4
    assert lines[10].isprintable()
    assert lines[10].startswith("dog")
    assert lines[11] == "90 %"
    assert max(map(len, lines)) <= 20
    coloured = picture_grid(pictures[:1], 1, colour=True)
    assert coloured.plain.splitlines()[0] == "▀" * 16
