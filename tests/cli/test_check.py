"""`manyhands check` reads whatever is there, and one bad file does not stop the others."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manyhands.cli.main import main

USE = "import tensorflow as tf\ntf.nn.relu\ntf.lookup.StaticHashTable\n"


def check(capsys, *arguments):
    """Give the exit code, what was found (name to lines), and what was said."""
    code = main(["check", "--json", *map(str, arguments)])
    said = capsys.readouterr()
    return code, json.loads(said.out), said.err


def lines_of(found, name="tf.nn.relu"):
    return [(use["cell"], use["line"]) for use in found if use["name"] == name]


LONG = "x = " + " + ".join(["tf.nn.relu(1)"] * 700) + "\n"
READABLE = {
    "utf-8": ("# Überall\n" + USE).encode(),
    "a mark": b"\xef\xbb\xbf" + USE.encode(),
    "a mark and a coding line": b"\xef\xbb\xbf# -*- coding: utf-8 -*-\n" + USE.encode(),
    "latin-1": ("# -*- coding: latin-1 -*-\ns = 'Überall'\n" + USE).encode("latin-1"),
    "latin-1 in line two": ("#!/usr/bin/python\n# vim: set fileencoding=latin-1 :\n" + USE).encode(
        "latin-1"
    ),
    "cp1252": ("# coding: cp1252\ns = '€'\n" + USE).encode("cp1252"),
    "other line ends": USE.replace("\n", "\r\n").encode(),
    "old line ends": USE.replace("\n", "\r").encode(),
    "no last line end": USE.rstrip().encode(),
    "a form feed": b"\x0c\n" + USE.encode(),
    "odd escapes": b's = "\\d\\w"\n' + USE.encode(),
    "a long sum": (USE + LONG).encode(),
    "many attributes": (USE + "y = a" + ".b" * 800 + "\n").encode(),
    "many calls": (USE + "y = a" + ".b()" * 400 + "\n").encode(),
}


@pytest.mark.parametrize("kind", READABLE)
def test_files_as_python_reads_them(tmp_path, capsys, kind):
    path = tmp_path / "train.py"
    path.write_bytes(READABLE[kind])
    code, found, said = check(capsys, path)
    assert said == ""
    assert code == 1  # one name is missing
    assert lines_of(found[str(path)])
    assert lines_of(found[str(path)], "tf.lookup.StaticHashTable")


UNREADABLE = {
    "latin-1, unsaid": (b"s = '\xdcberall'\n", "fix: save it as UTF-8, or say how it is coded"),
    "an unknown coding": (b"# coding: nonsense\n", "fix: save it as UTF-8, or say how it is coded"),
    "a null byte": (b"x = 1\0\n", "fix: make it run with Python 3.11"),
    "not Python": (b"def (\n", "fix: make it run with Python 3.11"),
    "Python 2": (b"print 'a'\n", "fix: make it run with Python 3.11"),
    "too deep": (b"x = " + b"(" * 9999 + b")" * 9999, "fix: make it run with Python 3.11"),
    "too long": (b"x = " + b" + ".join([b"1"] * 99999), "fix: make it run with Python 3.11"),
    "utf-16": (USE.encode("utf-16"), "fix: "),
    "any bytes": (bytes(range(256)), "fix: "),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_bad_file_does_not_stop_the_others(tmp_path, capsys, kind):
    content, fix = UNREADABLE[kind]
    first, bad, last = (tmp_path / name for name in ("a.py", "bad.py", "z.py"))
    first.write_text(USE)
    bad.write_bytes(content)
    last.write_text(USE)
    code, found, said = check(capsys, first, bad, last)
    assert code == 1
    assert list(found) == [str(first), str(last)]
    assert fix in said
    assert str(bad) in said
    assert said.count("manyhands:") == 1


def test_what_cannot_be_opened(tmp_path, capsys):
    good, loop, gone = tmp_path / "good.py", tmp_path / "loop.py", tmp_path / "gone.py"
    good.write_text(USE)
    loop.symlink_to(loop)
    unreadable = tmp_path / "secret.py"
    unreadable.write_text(USE)
    unreadable.chmod(0)
    shut = not os.access(unreadable, os.R_OK)
    code, found, said = check(capsys, loop, gone, unreadable, good)
    assert code == 1
    assert list(found) == ([str(good)] if shut else [str(unreadable), str(good)])
    assert said.count("fix: check the path.") == (3 if shut else 2)


@pytest.mark.parametrize("content", ["[]", "3", "null", "{}", '{"cells": 3}', '{"cells": [3]}'])
def test_json_that_is_no_notebook(tmp_path, capsys, content):
    path = tmp_path / "bad.ipynb"
    path.write_text(content)
    code, found, said = check(capsys, path)
    assert (code, found) == (1, {})
    assert "bad.ipynb: JSON, but not that of a notebook" in said


def test_all_names_of_a_part(tmp_path, capsys):
    path = tmp_path / "star.py"
    path.write_text("from tensorflow.keras import *\nm = layers.Dense(1)\nlayers.Nonsense(1)\n")
    _, found, _ = check(capsys, path)
    assert [(use["name"], use["status"]) for use in found[str(path)]] == [
        ("tf.keras", "supported"),
        ("tf.keras.layers.Dense", "supported"),
        ("tf.keras.layers.Nonsense", "missing"),
    ]


def test_an_empty_file_uses_nothing(tmp_path, capsys):
    path = tmp_path / "empty.py"
    path.write_bytes(b"")
    assert check(capsys, path) == (0, {str(path): []}, "")


def test_folders_are_gone_through(tmp_path, capsys):
    for place in ("", "inner", ".git", "__pycache__", "env/lib"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "train.py").write_text(USE)
    (tmp_path / "env" / "pyvenv.cfg").touch()
    (tmp_path / "inner" / "up").symlink_to(tmp_path)
    (tmp_path / "notes.txt").write_text("tf.nn.relu")
    _, found, said = check(capsys, tmp_path)
    assert list(found) == [str(tmp_path / "train.py"), str(tmp_path / "inner" / "train.py")]
    assert said == ""
    (tmp_path / "none").mkdir()
    code, _, said = check(capsys, tmp_path / "none")
    assert code == 1
    assert "fix: name a folder with .py or .ipynb files in it." in said


def notebook(*cells, old=False):
    made = []
    for cell in cells:
        kind, source = ("markdown", cell[3:]) if cell.startswith("md:") else ("code", cell)
        lines = source.splitlines(keepends=True)
        made.append({"cell_type": kind, "input" if old else "source": lines})
    return json.dumps({"worksheets": [{"cells": made}]} if old else {"cells": made})


CELLS = {
    "plain": "tf.nn.relu",
    "a magic": "%matplotlib inline\ntf.nn.relu",
    "the shell": "!pip install tensorflow \\\n  --quiet\ntf.nn.relu",
    "indented": "if True:\n    !nvidia-smi\ntf.nn.relu",
    "assigned": "files = !ls\nspent, x = %time f()\ntf.nn.relu",
    "help": "tf.nn?\n?tf.nn\ntf.nn.relu??\ntf.nn.relu",
    "a timed cell": "%%time\ntf.nn.relu",
    "a captured cell": "%%capture out\nx = tf.nn.relu",
    "a remainder": "x = (7\n     % 2)\n%cd ..\ntf.nn.relu",
    "awaited": "await something()\ntf.nn.relu",
    "text with a percent": 's = """\n%d\n"""\ntf.nn.relu',
}


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("old", [False, True])
def test_notebooks_are_read_cell_by_cell(tmp_path, capsys, kind, old):
    path = tmp_path / "train.ipynb"
    cells = ["md:# tf.nn.elu", "import tensorflow as tf", "%%bash\ntf.nn.elu (", CELLS[kind]]
    path.write_text(notebook(*cells, old=old))
    code, found, said = check(capsys, path)
    assert (code, said) == (0, "")
    assert lines_of(found[str(path)]) == [(4, CELLS[kind].count("\n") + 1)]
    assert not lines_of(found[str(path)], "tf.nn.elu")


def test_a_bad_cell_does_not_stop_the_others(tmp_path, capsys):
    path = tmp_path / "train.ipynb"
    path.write_text(notebook("import tensorflow as tf", "def (", "tf.nn.relu\ntf.nn.relu"))
    code, found, said = check(capsys, path)
    assert code == 1
    assert f"{path}, cell 2, line 1" in said
    assert lines_of(found[str(path)]) == [(3, 1), (3, 2)]
    main(["check", "--all", str(path)])
    assert "tf.nn.relu  cell 3, lines 1, 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"null", b'{"cells": 1}', b'{"cells": [{}]}', b"\xff\xfe", b"7"]
)
def test_a_bad_notebook_does_not_stop_the_others(tmp_path, capsys, content):
    bad, good = tmp_path / "bad.ipynb", tmp_path / "good.py"
    bad.write_bytes(content)
    good.write_text(USE)
    code, found, said = check(capsys, bad, good)
    assert code == 1
    assert list(found) == [str(good)]
    assert "fix: save it again from Jupyter" in said


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(content=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_at_all(tmp_path, capsys, content):
    for name in ("a.py", "a.ipynb"):
        (tmp_path / name).write_bytes(content)
        code, _, said = check(capsys, tmp_path / name)
        assert code in (0, 1)
        assert "fix: " in said or said == ""
