"""Pictures written to bytes, and what is refused."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

import manyhands.tf as tf

pixels = np.random.RandomState(0).randint(0, 256, (5, 4, 3)).astype("uint8")


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_png_holds_the_pixels(channels):
    data = tf.io.encode_png(pixels[..., :channels]).numpy()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (4, 5)
    at = data.index(b"IDAT")
    (size,) = struct.unpack(">I", data[at - 4 : at])
    lines = np.frombuffer(zlib.decompress(data[at + 4 : at + 4 + size]), "uint8").reshape(5, -1)
    np.testing.assert_array_equal(lines[:, 1:].reshape(5, 4, channels), pixels[..., :channels])


def test_png_inside_a_dataset(tmp_path):
    written = tf.data.Dataset.from_tensors(pixels).map(tf.image.encode_png).get_single_element()
    assert written == tf.io.encode_png(tf.constant(pixels))
    tf.io.write_file(str(tmp_path / "one.png"), written)
    assert (tmp_path / "one.png").read_bytes() == written.numpy()


def test_jpeg_needs_pillow():
    smooth = np.kron(np.arange(12).reshape(4, 3, 1) * 20, np.ones((8, 8, 3))).astype("uint8")
    try:
        import PIL  # noqa: F401
    except ImportError:
        with pytest.raises(Exception, match="Writing JPEG pictures needs Pillow") as error:
            tf.io.encode_jpeg(smooth)
        assert "pip install pillow" in str(error.value)
        return
    read = tf.io.decode_jpeg(tf.io.encode_jpeg(smooth, quality=100))
    assert np.abs(np.asarray(read).astype(int) - smooth).max() < 4
    grey = tf.io.encode_jpeg(smooth[..., :1], format="grayscale", density_unit="cm")
    assert tf.io.decode_jpeg(grey).shape == (32, 24, 1)


@pytest.mark.parametrize("image", [pixels.astype("float32"), pixels[None], pixels[..., 0]])
def test_other_pixels_are_refused(image):
    with pytest.raises(ValueError, match="in uint8") as error:
        tf.io.encode_png(image)
    assert "fix: use tf.image.convert_image_dtype" in str(error.value)


def test_sizes_and_methods_that_are_not_there():
    with pytest.raises(ValueError, match="fix: use bilinear, nearest, bicubic, area"):
        tf.image.resize(pixels, [2, 2], method="magic")
    with pytest.raises(ValueError, match="give a smaller filter_size"):
        tf.image.ssim(pixels, pixels, 255)
    with pytest.raises(ValueError, match="expects a 4D tensor"):
        tf.image.image_gradients(pixels)


@pytest.mark.parametrize("method", [tf.image.ResizeMethod.AREA, tf.image.ResizeMethod.BICUBIC])
def test_resizing_inside_a_function(method):
    resize = lambda x: tf.image.resize(x, [3, 3], method=method)  # noqa: E731
    np.testing.assert_allclose(tf.function(resize)(pixels), resize(pixels), rtol=1e-5)
