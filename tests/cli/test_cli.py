from __future__ import annotations

import json
import os
import subprocess
import sys

import manyhands as mh


def manyhands(*arguments, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MANYHANDS_")}
    return subprocess.run(
        [sys.executable, "-m", "manyhands.cli.main", *arguments],
        env=clean | {"JAX_PLATFORMS": "cpu", "COLUMNS": "160"} | environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_devices_shows_a_row_a_device_and_their_links():
    done = manyhands("devices", MANYHANDS_DEVICES="2")
    assert done.returncode == 0, done.stderr
    assert "CPU:0" in done.stdout
    assert "CPU:1" in done.stdout
    assert "same memory" in done.stdout
    assert "Showing the CPU devices" in done.stdout


def test_devices_for_scripts():
    done = manyhands("devices", "--json", MANYHANDS_DEVICES="2")
    found = json.loads(done.stdout)
    assert [device["name"] for device in found["devices"]] == ["CPU:0", "CPU:1"]
    assert found["links"] == [{"between": ["CPU:0", "CPU:1"], "kind": "same memory"}]


def test_the_demo_compares_many_devices_with_one():
    done = manyhands("demo", "--epochs", "2")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "loss on 4 devices" in done.stdout
    assert "rows/s" in done.stdout
    largest = done.stdout.split("Largest difference between the two loss curves: ")[1].split()[0]
    assert float(largest) < 1e-4


def test_a_mistake_is_told_on_stderr():
    assert manyhands("no-such-command").returncode == 2
    done = manyhands("devices", MANYHANDS_DEVICES="many")
    assert done.returncode != 0
    assert "fix: set it to a whole number" in done.stderr
    assert manyhands("--version").stdout.strip() == f"manyhands {mh.__version__}"
