"""Errors end with their own words and show the program's line, wherever we run its code."""

from __future__ import annotations

import sys
import traceback

import jax
import keras
import pytest

import manyhands as mh
from manyhands.errors import StepError
from manyhands.tracebacks import for_the_program, make_readable
from tests import traceback_cases as cases
from tests.programs import run


@pytest.fixture(scope="module")
def strategy():
    return mh.MirroredStrategy(["CPU:0", "CPU:1"])


def raised(place, strategy, failing):
    with pytest.raises(Exception) as caught:
        place(strategy, failing)
    return caught.value


def check_readable(error, cause):
    shown = "".join(traceback.format_exception(error)).rstrip()
    own_words = "".join(traceback.format_exception_only(error)).rstrip()
    assert shown.endswith(own_words)
    assert "JAX_TRACEBACK_FILTERING" not in shown
    assert "JAX has removed" not in shown
    assert "# here" in shown
    if "Unable to automatically build the model" in str(error):
        return  # Keras' own words; the program's error is shown before it
    frames = traceback.extract_tb(error.__traceback__)
    inside = frames[1:]  # without this test's own call
    assert [frame.filename for frame in inside if "manyhands/" in frame.filename] == []
    assert [frame.filename for frame in inside if "site-packages" in frame.filename] == []
    assert frames[-1].name == cause.__name__
    assert frames[-1].line.endswith("# here")


@pytest.mark.parametrize("place", cases.PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize("cause", cases.CAUSES, ids=lambda cause: cause.__name__)
@pytest.mark.filterwarnings("ignore")
def test_errors_end_with_their_own_words(strategy, place, cause):
    check_readable(raised(place, strategy, cause), cause)


@pytest.mark.parametrize("nesting", cases.NESTINGS[1:], ids=lambda nesting: nesting.__name__)
@pytest.mark.filterwarnings("ignore")
def test_errors_inside_of_jax_functions(strategy, nesting):
    for place in cases.NESTED:
        for cause in cases.CAUSES:
            check_readable(raised(place, strategy, nesting(cause)), cause)


@pytest.mark.parametrize("asked_of", ["jax", "keras"])
def test_whole_tracebacks_stay_whole(strategy, asked_of):
    if asked_of == "jax":
        before = jax.config.jax_traceback_filtering
        jax.config.update("jax_traceback_filtering", "off")
    else:
        keras.config.disable_traceback_filtering()
    try:
        error = raised(cases.run, strategy, cases.in_scan(cases.jax_shape))
    finally:
        if asked_of == "jax":
            jax.config.update("jax_traceback_filtering", before)
        else:
            keras.config.enable_traceback_filtering()
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert any("manyhands/strategies" in file for file in files)
    assert asked_of == "keras" or any("jax/_src" in file for file in files)


def test_notes_of_the_program_stay():
    error = ValueError("as asked")
    error.add_note("the program's own")
    error.add_note("--------------------\nSet JAX_TRACEBACK_FILTERING=off to include these.")
    make_readable(error)
    assert error.__notes__ == ["the program's own"]


def test_errors_that_led_to_it_are_made_readable_too():
    first, second = ValueError("first"), KeyError("second")
    for error in (first, second):
        error.add_note("JAX_TRACEBACK_FILTERING")
    second.__cause__ = first
    first.__context__ = second  # a circle, as Python allows
    make_readable(ExceptionGroup("both", [second]))
    assert not hasattr(first, "__notes__")
    assert not hasattr(second, "__notes__")


def test_the_end_of_data_passes_by():
    with pytest.raises(StopIteration) as caught, for_the_program:
        next(iter(()))
    assert caught.value.__traceback__ is not None


def test_a_fault_of_ours_keeps_our_frames(strategy, monkeypatch):
    runner = type(strategy._runner)
    monkeypatch.setattr(runner, "_function", 7)
    with pytest.raises(TypeError) as caught:
        strategy.run(cases.value, args=(cases.X,))
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert any("manyhands/strategies/running.py" in file for file in files)


def test_our_own_errors_end_with_their_fix(strategy):
    with pytest.raises(StepError, match="with the comma") as caught:
        strategy.run(cases.value, args=cases.X)
    assert str(caught.value).splitlines()[-1].startswith("  fix: ")


PROGRAM = """
import manyhands as mh
import jax, keras, numpy as np
strategy = mh.MirroredStrategy()
def step(x):
    return jax.lax.scan(lambda carry, row: (carry, wrong(row)), 0.0, x)
def wrong(row):
    return row @ jax.numpy.ones((7, 7))
strategy.run(step, args=(np.ones((4, 3), "float32"),))
"""


def test_the_last_line_that_a_user_sees():
    done = run(PROGRAM, fresh=True)
    assert done.returncode == 1
    lines = done.stderr.rstrip().splitlines()
    assert lines[-1].startswith("TypeError: dot_general requires contracting dimensions"), lines
    assert [line for line in lines if "File" in line][-1].endswith("in wrong")
    assert "manyhands/" not in done.stderr


def test_the_last_line_under_manyhands_run(tmp_path):
    (tmp_path / "train.py").write_text(
        "import tensorflow as tf\ntf.map_fn(lambda r: tf.matmul(r, r), tf.ones([2, 3, 4]))\n"
    )
    source = (
        "import sys; from manyhands.cli.main import main;"
        f"sys.exit(main(['run', {str(tmp_path / 'train.py')!r}]))"
    )
    done = run(source, fresh=True)
    lines = done.stderr.rstrip().splitlines()
    assert "JAX" not in lines[-1], lines
    assert [line for line in lines if "File" in line][-1].endswith("in <lambda>")
    assert "manyhands/" not in done.stderr, done.stderr
    assert sys.executable not in done.stderr
