"""`manyhands run` is like `python`: what a program sees of itself, and what is shown of its end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys

def fails():
    raise ValueError("as asked")

def fails_again():
    try:
        fails()
    except ValueError as error:
        raise KeyError("k") from error

def fails_on_the_way():
    try:
        fails()
    except ValueError:
        assert False, "no"

def hooked():
    sys.excepthook = lambda kind, value, trace: print("hooked", kind.__name__, trace.tb_lineno)
    fails()

def interrupted():
    raise KeyboardInterrupt

def pickles():
    import pickle
    assert pickle.loads(pickle.dumps(fails)) is fails

def shows_itself():
    import __main__
    print(sys.argv, __name__, __package__, __spec__ and __spec__.name, __file__, sys.path[0])
    print(__main__.__dict__ is globals(), __builtins__, type(__loader__).__name__)

def later():
    import atexit, threading, pickle
    atexit.register(lambda: print(pickle.loads(pickle.dumps(fails)) is fails))
    thread = threading.Thread(target=lambda: (thread_may_go.wait(), print(fails.__name__)))
    thread_may_go = threading.Event()
    thread.start()
    thread_may_go.set()

def in_groups():
    raise ExceptionGroup("both", [ValueError("one"), KeyError("other")])

def notes():
    error = ValueError("as asked")
    error.add_note("a note of the program's own")
    raise error

CASES = {
    "fails": fails, "fails_again": fails_again, "fails_on_the_way": fails_on_the_way,
    "hooked": hooked, "interrupted": interrupted, "pickles": pickles, "later": later,
    "shows_itself": shows_itself, "in_groups": in_groups, "notes": notes,
    "a_message": lambda: sys.exit("a message"), "a_number": lambda: sys.exit(3),
    "nothing": lambda: sys.exit(), "a_failed_import": lambda: __import__("bad"),
    "an_import_of_nonsense": lambda: __import__("worse"),
    "no_such_import": lambda: __import__("nowhere"),
}
CASES[sys.argv[1]]()
"""
NAMES = (
    *("fails", "fails_again", "fails_on_the_way", "hooked", "interrupted", "pickles", "later"),
    *("shows_itself", "in_groups", "notes", "a_message", "a_number", "nothing"),
    *("a_failed_import", "an_import_of_nonsense", "no_such_import"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    (folder / "package" / "inner").mkdir(parents=True)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "bad.py").write_text("1 / 0\n")
    (folder / "worse.py").write_text("def (\n")
    (folder / "latin.py").write_bytes(b"# coding: latin-1\nprint('\xe9' == chr(233))\n1 / 0\n")
    (folder / "marked.py").write_bytes(b"\xef\xbb\xbfprint('\xc3\xa9' == chr(233))\n")
    (folder / "empty.py").write_text("")
    (folder / "nul.py").write_bytes(b"x = 1\0\n")
    for place in ("package", "package/inner"):
        (folder / place / "__init__.py").write_text("")
    (folder / "package" / "other.py").write_text("")
    (folder / "package" / "train.py").write_text("from . import other\n" + PROGRAM)
    (folder / "package" / "inner" / "__main__.py").write_text("from .. import other\n" + PROGRAM)
    return folder


def both(folder, *arguments):
    """Run a program with Python, and with ours."""
    found = []
    for start in ([], ["-m", "manyhands.cli.main", "run", "--no-shim"]):
        done = subprocess.run(
            [sys.executable, *start, *arguments],
            cwd=folder,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        code = 130 if done.returncode == -2 else done.returncode  # as a shell has it
        found.append((code, done.stdout, done.stderr))
    return found


@pytest.mark.parametrize("case", NAMES)
def test_a_script_ends_as_with_python(folder, case):
    python, ours = both(folder, "program.py", case, "--devices", "3")
    assert ours == python


@pytest.mark.parametrize("script", ["worse", "latin", "marked", "empty"])
def test_a_file_is_read_as_python_reads_it(folder, script):
    python, ours = both(folder, f"{script}.py")
    assert ours == python


def test_a_null_byte_is_named_by_its_place(folder):
    _, ours = both(folder, "nul.py")
    assert ours[0] == 1
    assert 'nul.py", line 1' in ours[2]
    assert ours[2].endswith("null bytes\n")


@pytest.mark.parametrize("module", ["package.train", "package.inner"])
@pytest.mark.parametrize("case", ["shows_itself", "fails_again", "a_number", "later"])
def test_a_module_ends_as_with_python(folder, module, case):
    python, ours = both(folder, "-m", module, case, "-m", "x")
    assert ours[0] == python[0]
    assert ours[1] == python[1]
    inner = [line for line in python[2].splitlines() if "runpy" not in line]
    assert [line for line in inner if "_run_code" not in line and "exec(code" not in line][
        -3:
    ] == ours[2].splitlines()[-3:]
    assert "runpy" not in ours[2]
    assert "manyhands" not in ours[2]


@pytest.mark.parametrize("name", ["package", "nowhere", "package.nowhere", ".package", "..", ""])
def test_a_module_that_is_not_there(folder, name):
    _, ours = both(folder, "-m", name)
    assert ours[0] == 1
    assert "fix: name a module that can be imported from here" in ours[2]
    assert "Traceback" not in ours[2]


def test_a_script_that_is_not_there(folder):
    _, ours = both(folder, "nowhere.py")
    assert ours[0] == 1
    assert "fix: pass the path of a Python file" in ours[2]


CHILDREN = """
import subprocess, sys
import multiprocessing
import tensorflow as tf
from concurrent.futures import ProcessPoolExecutor

def work(n):
    return float(tf.reduce_sum(tf.ones([n]))), tf.__name__

if __name__ == "__main__":
    spawn, server = map(multiprocessing.get_context, ("spawn", "forkserver"))
    with spawn.Pool(1) as pool:
        print(pool.map(work, [3]))
    with ProcessPoolExecutor(1, mp_context=server) as pool:
        print(list(pool.map(work, [4])))
    code = "import sys; assert not {'jax', 'manyhands'} & {*sys.modules}; import keras;"
    code += "from keras.src.utils.module_utils import tensorflow as it; assert not it.available;"
    code += "import tensorflow.keras.layers as layers, tensorflow as tf; print(tf.__name__)"
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True))
"""


@pytest.mark.parametrize("form", ["script", "module"])
def test_processes_that_a_program_starts_find_tensorflow(tmp_path, form):
    (tmp_path / "train.py").write_text(CHILDREN)
    if form == "module":
        (tmp_path / "train.py").write_text(CHILDREN.split("    with ProcessPool")[0])
    named = ["train.py"] if form == "script" else ["-m", "train"]
    done = subprocess.run(
        [sys.executable, "-m", "manyhands.cli.main", "run", *named],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "[(3.0, 'manyhands.tf')]"
    if form == "script":
        assert lines[1] == "[(4.0, 'manyhands.tf')]"
        assert r"stdout='manyhands.tf\n', stderr=''" in lines[2]


def test_another_sitecustomize_runs_as_well(tmp_path):
    import manyhands.tf.hook as hook

    ours = os.path.join(os.path.dirname(hook.__file__), "for_children")
    (tmp_path / "sitecustomize.py").write_text("print('theirs')\n")
    path = os.pathsep.join([ours, str(tmp_path), os.environ.get("PYTHONPATH", "")])
    code = f"import sitecustomize, sys; print(sitecustomize.__file__, {ours!r} in sys.path)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["theirs", f"{tmp_path}/sitecustomize.py False"]


def test_a_module_in_several_processes(folder):
    _, ours = both(folder, "--processes", "2", "-m", "package.train", "a_message", "-m")
    assert ours[0] == 1
    assert ours[2].count("a message") >= 1
    _, ours = both(folder, "--processes", "2", "--devices", "2", "-m", "package.train", "nothing")
    assert ours[0] == 0, ours[2]
