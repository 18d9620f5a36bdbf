"""tf.io: files, records, lines, pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from manyhands.data import dataset as native
from manyhands.data.dataset import FixedLenFeature, TFRecordWriter, VarLenFeature
from manyhands.keras_bridge.function import refuse_in_step
from manyhands.tf import gfile
from manyhands.tf.csv import decode_csv
from manyhands.tf.dtypes import as_dtype, on_device
from manyhands.tf.image import decode_image
from manyhands.tf.pictures import decode, encode_jpeg, encode_png
from manyhands.tf.tensor import text


def _plain(contents: Any) -> bytes:
    return contents if isinstance(contents, bytes) else np.asarray(contents, dtype=object).item()


def read_file(filename: Any, name: Any = None) -> Any:
    """Read all of a file."""
    del name
    refuse_in_step("it reads a file")
    path = _plain(filename) if not isinstance(filename, str | Path) else filename
    path = path.decode() if isinstance(path, bytes) else path
    with gfile.GFile(path, "rb") as file:
        return text(file.read())


def write_file(filename: Any, contents: Any, name: Any = None) -> None:
    """Write a file."""
    del name
    refuse_in_step("it writes a file")
    Path(filename).parent.mkdir(parents=True, exist_ok=True)
    data = _plain(contents)
    Path(filename).write_bytes(data if isinstance(data, bytes) else str(data).encode())


def parse_single_example(
    serialized: Any, features: Any, example_names: Any = None, name: Any = None
) -> Any:
    """Parse one record."""
    del example_names, name
    return native.parse_single_example(serialized, features)


def parse_example(
    serialized: Any, features: Any, example_names: Any = None, name: Any = None
) -> Any:
    """Parse a batch of records."""
    del example_names, name
    return native.parse_example(serialized, features)


def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: Any = None,
) -> Any:
    """Take bytes for numbers."""
    del name
    kind = as_dtype(out_type).dtype.newbyteorder("<" if little_endian else ">")
    given = np.asarray(input_bytes, dtype=object)
    pieces = given.ravel()
    if fixed_length is not None:  # zeros fill up what is shorter
        pieces = [one[:fixed_length].ljust(fixed_length, b"\0") for one in pieces]
    rows = [np.frombuffer(one, kind).astype(kind.newbyteorder("=")) for one in pieces]
    return jnp.asarray(np.stack(rows).reshape(*given.shape, -1), on_device(out_type))


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: Any = None,
) -> Any:
    """Read a JPEG picture, as Pillow does: how it is decoded is Pillow's choice."""
    del fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method, name
    if ratio != 1:
        raise ValueError(f"decode_jpeg reads pictures at full size, got ratio={ratio}: resize it.")
    return jnp.asarray(decode(contents, channels))


def decode_png(contents: Any, channels: int = 0, dtype: Any = "uint8", name: Any = None) -> Any:
    """Read a PNG picture."""
    del name
    return jnp.asarray(decode(contents, channels), on_device(dtype))


decode_bmp = decode_gif = decode_png


def serialize_tensor(tensor: Any, name: Any = None) -> Any:
    """Write a tensor as bytes: its dtype, its shape and its numbers."""
    del name
    array = np.asarray(tensor)
    head = f"{array.dtype.name} {' '.join(map(str, array.shape))}\n".encode()
    return text(head + np.ascontiguousarray(array).tobytes())


def parse_tensor(serialized: Any, out_type: Any, name: Any = None) -> Any:
    """Read a tensor that `serialize_tensor` wrote."""
    del name
    head, _, body = _plain(serialized).partition(b"\n")
    kind, *shape = head.decode().split(" ")
    dims = tuple(int(one) for one in shape if one)
    array = np.frombuffer(body, as_dtype(kind).dtype).reshape(dims)
    return jnp.asarray(array, on_device(out_type))


__all__ = [
    "FixedLenFeature",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_csv",
    "decode_image",
    "encode_jpeg",
    "encode_png",
    "gfile",
]
