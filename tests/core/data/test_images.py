"""Images: converted to another shape as by Pillow, and picture files as cameras and attackers make them."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image, ImageOps

from core.data.custom_domains import folder_shape
from core.data.images import can_convert, convert_images, decode_image, resize
from core.errors import InputError
from tests.support.image_folders import images


@pytest.mark.parametrize(
    ("have", "want"), [((16, 16), (28, 28)), ((32, 32), (28, 28)), ((40, 30), (7, 50)), ((8, 8), (28, 28))]
)
def test_resize_equals_pillows_bilinear(have: tuple[int, int], want: tuple[int, int]) -> None:
    x = images(5, (*have, 3))
    ours = resize(x, *want)
    for image, result in zip(x, ours, strict=True):
        theirs = Image.fromarray(image).resize((want[1], want[0]), Image.Resampling.BILINEAR)
        assert np.abs(np.asarray(theirs, dtype=int) - result).max() <= 1
    assert resize(x, *have) is x


def test_grey_is_itu_r_601() -> None:
    x = images(4, (9, 9, 3))
    for image, grey in zip(x, convert_images(x, (9, 9, 1)), strict=True):
        theirs = np.asarray(Image.fromarray(image).convert("L"), dtype=int)
        assert np.abs(theirs - grey[..., 0]).max() <= 1


def test_only_grey_and_three_equal_channels_are_converted() -> None:
    x = images(2, (8, 8, 1))
    colour = convert_images(x, (8, 8, 3))
    assert (colour == x).all()
    assert (convert_images(colour, (8, 8, 1)) == x).all()
    assert [can_convert(*channels) for channels in ((1, 3), (3, 1), (5, 5), (4, 3))] == [True, True, True, False]


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\nshowpage\n%%EOF\n"


def png_header(width: int, height: int, colour: int = 2, *parts: bytes, pixels: bytes = b"") -> bytes:
    """Return a PNG file whose header has any size, without pixels if none are given."""
    header = b"IHDR" + struct.pack(">2I5B", width, height, 8, colour, 0, 0, 0)
    chunks = (header, *parts, b"IDAT" + zlib.compress(pixels), b"IEND")
    body = b"".join(struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in chunks)
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [10_000, 60_000])
def test_bombs_are_refused_by_their_header(tmp_path: Path, side: int) -> None:
    (tmp_path / "bomb.png").write_bytes(png_header(side, side))
    with pytest.raises(InputError, match=r"bomb\.png: has more pixels than"):
        decode_image(tmp_path / "bomb.png", (8, 8, 3))


def gif() -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (8, 8)).save(buffer, "gif")
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [POSTSCRIPT, gif(), b"", png_header(8, 8), png_header(8, 8, 3, b"tRNS\0", pixels=bytes(72))],
    ids=["eps", "gif", "empty", "cut", "without palette"],
)
def test_only_png_and_jpeg_are_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "picture.png").write_bytes(content)
    with pytest.raises(InputError, match=r"picture\.png: cannot be read as an image"):
        decode_image(tmp_path / "picture.png", (8, 8, 3))


@pytest.mark.parametrize("suffix", ["png", "jpg"])
@pytest.mark.parametrize("orientation", range(10))
def test_every_orientation_is_undone_whatever_other_tags_there_are(
    tmp_path: Path, orientation: int, suffix: str
) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (8, 16, 3), np.uint8)
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    picture = tmp_path / f"picture.{suffix}"
    Image.fromarray(pixels).save(picture, exif=exif)
    with Image.open(picture) as image:
        upright = np.asarray(ImageOps.exif_transpose(image))
    exif[ExifTags.IFD.GPSInfo] = {0: b"N"}
    unusual = exif.tobytes().replace(b"\0\0\0\1\0\0\0\1N", b"\0\0\0\2\0\0\0\1N")  # bytes, marked as text
    Image.fromarray(pixels).save(picture, exif=unusual)
    shape, _ = folder_shape(list(tmp_path.iterdir()), 0)
    assert shape == upright.shape
    assert np.array_equal(decode_image(picture, shape), upright)


def test_sizes_of_png_files_are_read_without_their_pixels(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(png_header(8, 6))
    assert folder_shape(list(tmp_path.iterdir()), 0) == ((6, 8, 3), None)


def test_tags_after_the_pixels_of_a_png_file_are_found(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    picture = tmp_path / "picture.png"
    Image.new("RGB", (8, 6)).save(picture, exif=exif)
    content = picture.read_bytes()
    start = content.index(b"eXIf") - 4
    chunk = content[start : start + 12 + int.from_bytes(content[start : start + 4])]
    picture.write_bytes(content.replace(chunk, b"")[:-12] + chunk + content[-12:])
    assert folder_shape(list(tmp_path.iterdir()), 0) == ((8, 6, 3), None)
    assert decode_image(picture, (8, 6, 3)).shape == (8, 6, 3)


@pytest.mark.filterwarnings("error")
def test_palette_alpha_and_sixteen_bits_become_bytes(tmp_path: Path) -> None:
    colours = np.arange(0, 256, 4, dtype=np.uint8).reshape(8, 8)
    grey = Image.fromarray(colours)
    grey.convert("P").save(tmp_path / "palette.png")
    grey.convert("P").save(tmp_path / "transparent.png", transparency=bytes(range(256)))
    grey.convert("LA").save(tmp_path / "alpha.png")
    Image.fromarray(colours.astype(np.uint16) << 8).save(tmp_path / "sixteen.png")
    for name in ("palette", "transparent", "alpha", "sixteen"):
        assert np.array_equal(decode_image(tmp_path / f"{name}.png", (8, 8, 1))[:, :, 0], colours), name
