"""Sizes that every rival shares; importable without Keras."""

VOCABULARY = 50304  # 50,257 filled up to a multiple of 128, as is usual
