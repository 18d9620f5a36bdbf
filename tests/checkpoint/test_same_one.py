"""Machines with disks of their own go on from the same checkpoint, whoever's copy is damaged."""

from __future__ import annotations

from tests.cluster.groups import launched

SOURCE = """
import os, sys, warnings
import manyhands as mh
strategy = mh.MultiWorkerMirroredStrategy()
import keras, numpy as np
me, group = strategy.group.index, strategy.group
os.makedirs(f"{sys.argv[1]}/{me}")
os.chdir(f"{sys.argv[1]}/{me}")  # a disk of its own, under the same name

def manager_of(name):
    v = keras.Variable(np.zeros(1000, "f4"))
    return mh.checkpoint.CheckpointManager(mh.checkpoint.Checkpoint(v=v), name, 3)

def saved(name, damaged_at):
    manager = manager_of(name)
    for value in (1, 2, 3):
        manager.checkpoint.v.assign(np.full(1000, value, "f4"))
        manager.save()
    manager.sync()
    if me == damaged_at:
        largest = max(os.scandir(f"{name}/ckpt-3/arrays/d"), key=lambda entry: entry.stat().st_size)
        content = bytearray(open(largest, "rb").read())
        content[len(content) // 2] ^= 4
        open(largest, "wb").write(content)

def restored(name, first):
    manager, told = manager_of(name), ""
    for turn in (first, 1 - first):
        if turn == me:
            with warnings.catch_warnings(record=True, action="always") as said:
                try:
                    told = manager.restore_or_initialize()
                    assert manager.checkpoint.v.numpy()[-1] == int(told[-1]), told
                except mh.checkpoint.CheckpointDamagedError as error:
                    told = str(error).replace("\\n", " ")
            ours = [str(one.message) for one in said if one.category.__name__ == "ManyhandsWarning"]
            told = " ".join([told, *ours])
        group.agree("turn", 0)
    print(f"{name} {me}: {told}")

for name, damaged_at, first in (("a", 0, 0), ("b", 1, 0), ("c", 0, 0)):
    saved(name, damaged_at)
    restored(name, first)
restored("c", 1)
saved("c", None)
restored("c", 1)
"""


def test_all_go_on_from_the_one_that_the_first_took(tmp_path):
    told = launched(tmp_path, SOURCE, "--no-shim", "--processes", "2", arguments=[str(tmp_path)])
    assert told.returncode == 0, told.stdout + told.stderr
    said = [line[4:] for line in told.stdout.splitlines()]
    here = "for it is damaged: arrays/d/"
    there = "for its copy in another process is damaged: a/ckpt-2"
    assert any(line.startswith("a 0: a/ckpt-2 The") and here in line for line in said), said
    assert any(line.startswith("a 1: a/ckpt-2 The") and there in line for line in said)
    assert "b 0: b/ckpt-3" in said
    only_here = [line for line in said if "The other processes go on" in line]
    assert [line[:4] for line in only_here] == ["b 1:", "c 0:"]
    assert all("fix: copy it from another machine" in line for line in only_here)
    assert {"c 0: c/ckpt-3", "c 1: c/ckpt-3"} <= set(said), "they are whole again"
