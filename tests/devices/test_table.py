from __future__ import annotations

import json

import pynvml
import pytest

import manyhands as mh
from manyhands.devices import nvml


def test_one_row_a_device_with_memory_and_links():
    table = mh.devices.table()
    assert table.names[0] in ("CPU:0", "GPU:0")
    assert all(device.model and device.memory_total_bytes for device in table.devices)
    pairs = len(table.names) * (len(table.names) - 1) // 2
    assert len(table.links) == pairs
    assert table.link(table.names[0], table.names[0]) is None
    assert json.loads(json.dumps(table.as_dict()))["devices"][0]["name"] == table.names[0]


def test_without_a_gpu_it_says_so():
    table = mh.devices.table()
    if table.names[0].startswith("GPU"):
        pytest.skip("this machine has a GPU")
    assert any("CPU devices" in note for note in table.notes)
    assert table.link("CPU:0", "CPU:1") == "same memory"


def test_nvml_reads_each_gpu_or_says_why_not():
    reading = nvml.read()
    if reading.problem:
        assert "NVML" in reading.problem
        return
    pynvml.nvmlInit()
    assert len(reading.gpus) == pynvml.nvmlDeviceGetCount()
    assert nvml.read(["0", "no-such-gpu"]).gpus == reading.gpus[:1]
