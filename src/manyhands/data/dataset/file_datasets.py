"""tf.data's classes for files.

In: names of files.  Out: datasets of bytes; whatever is made from them is a plain Dataset.
"""

from __future__ import annotations

from typing import Any

from manyhands.data.dataset.core import Core
from manyhands.data.dataset.dataset import Dataset


class TFRecordDataset(Dataset):
    """Records of TFRecord files."""

    _derives = Dataset

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: int | None = None,  # noqa: ARG002
        num_parallel_reads: int | None = None,
        name: str | None = None,  # noqa: ARG002
    ) -> None:
        made = Dataset.from_records(filenames, compression_type, num_parallel_reads)
        Core.__init__(self, made.stage)


class TextLineDataset(Dataset):
    """Lines of text files."""

    _derives = Dataset

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: int | None = None,  # noqa: ARG002
        num_parallel_reads: int | None = None,
        name: str | None = None,  # noqa: ARG002
    ) -> None:
        made = Dataset.from_text_lines(filenames, compression_type, num_parallel_reads)
        Core.__init__(self, made.stage)


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
