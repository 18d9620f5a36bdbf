"""tf.data's classes for files.

In: names of files.  Out: datasets of bytes; whatever is made from them is a plain Dataset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from manyhands.data.dataset.core import Core
from manyhands.data.dataset.dataset import Dataset


class _SeveralAtOnce(Dataset):
    """Files that may be read side by side."""

    _derives = Dataset
    _read: Callable[[Any, Any, int | None], Dataset]

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: int | None = None,  # noqa: ARG002
        num_parallel_reads: int | None = None,
        name: str | None = None,  # noqa: ARG002
    ) -> None:
        made = self._read(filenames, compression_type, num_parallel_reads)
        Core.__init__(self, made.stage)


class TFRecordDataset(_SeveralAtOnce):
    """Records of TFRecord files."""

    _read = Dataset.from_records


class TextLineDataset(_SeveralAtOnce):
    """Lines of text files."""

    _read = Dataset.from_text_lines


class FixedLengthRecordDataset(Dataset):
    """Pieces of one length of binary files."""

    _derives = Dataset

    def __init__(
        self,
        filenames: Any,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        buffer_size: int | None = None,  # noqa: ARG002
        compression_type: Any = None,
        name: str | None = None,  # noqa: ARG002
    ) -> None:
        made = Dataset.from_fixed_length_records(
            filenames, record_bytes, header_bytes, footer_bytes, compression_type
        )
        Core.__init__(self, made.stage)
