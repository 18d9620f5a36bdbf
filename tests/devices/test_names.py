from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyhands.devices import DeviceName, parse
from manyhands.errors import DeviceError


@pytest.mark.parametrize(
    "text",
    [
        "GPU:1",
        "gpu:1",
        "/gpu:1",
        "/GPU:1",
        "/device:GPU:1",
        "device:gpu:1",
        "/job:localhost/replica:0/task:0/device:GPU:1",
        "/job:worker/task:3/device:GPU:1",
        "/job:worker/task:3/gpu:1",
        "/replica:0/task:0/gpu:1",
        "cuda:1",
        " GPU:1 ",
    ],
)
def test_every_spelling_of_tensorflow_names_the_same_device(text):
    assert parse(text) == DeviceName("gpu", 1)


@pytest.mark.parametrize(("text", "name"), [("cpu", "CPU:0"), ("/device:GPU:*", "GPU:0")])
def test_a_name_without_a_number_means_the_first(text, name):
    assert str(parse(text)) == name


@given(
    st.sampled_from(["cpu", "gpu", "tpu"]),
    st.integers(0, 10_000),
    st.sampled_from(["", "/", "/device:", "/job:worker/replica:0/task:1/device:"]),
    st.booleans(),
)
def test_names_are_read_back(kind, index, prefix, upper):
    text = f"{prefix}{kind.upper() if upper else kind}:{index}"
    assert parse(text) == DeviceName(kind, index)
    assert parse(str(parse(text))) == parse(text)


@given(st.text(max_size=30))
def test_any_text_is_a_name_or_gets_an_error_that_shows_how_to_write_it(text):
    if any(kind in text.lower() for kind in ("cpu", "gpu", "tpu", "cuda", "rocm")):
        return
    with pytest.raises(DeviceError, match='write it like "GPU:0"'):
        parse(text)
