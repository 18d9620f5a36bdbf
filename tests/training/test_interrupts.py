"""Ctrl-C in `fit` leaves the model with its latest complete weights."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from manyhands.engine.interrupts import Interrupts
from tests.programs import output_of


@pytest.fixture(autouse=True)
def _ctrl_c_is_heard():
    """A shell starts programs in the background with Ctrl-C switched off; not so here."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)


def interrupted(work):
    """Run work under a fresh watch and list how far it came."""
    interrupts, reached = Interrupts(), []
    with pytest.raises(KeyboardInterrupt), interrupts.watched():
        work(interrupts, reached)
    return reached


def test_outside_a_launch_it_acts_at_once():
    def work(interrupts, reached):
        press()
        reached.append("after")

    assert interrupted(work) == []


def test_inside_a_launch_it_waits_for_the_end():
    def work(interrupts, reached):
        with interrupts.held():
            press()
            reached.append("launched")
        reached.append("after")

    assert interrupted(work) == ["launched"]


def test_pressed_twice_it_acts_at_once():
    def work(interrupts, reached):
        with interrupts.held():
            press()
            reached.append("once")
            press()
            reached.append("twice")

    assert interrupted(work) == ["once"]


LIBRARY = """
def call():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
    except BaseException:
        pass  # what C code does when it only asks whether there is an attribute
"""


def test_an_interrupt_that_a_library_swallowed_is_raised_again():
    library = {
        "__name__": "manyhands.keras_bridge.wrapping",
        "os": os,
        "signal": signal,
        "time": time,
    }
    exec(LIBRARY, library)

    def work(interrupts, reached):
        library["call"]()
        reached.append("swallowed")
        with interrupts.held():
            reached.append("launched")

    assert interrupted(work) == ["swallowed"]


def test_an_interrupt_that_somebody_caught_is_over():
    interrupts = Interrupts()
    with interrupts.watched():
        with pytest.raises(KeyboardInterrupt):
            press()
        with interrupts.held():
            pass
    with interrupts.held():
        pass


def test_somebody_elses_handler_and_other_threads_are_left_alone():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts().watched():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    entered = []

    def elsewhere():
        with Interrupts().watched():
            entered.append(True)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert entered


PROGRAM = """
import os, random, signal, threading, time
import manyhands as mh
mh.config.set_virtual_devices(3)
import keras
import numpy as np

signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell switched it off
with mh.MirroredStrategy().scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, use_bias=False)])
# One step adds exactly 1 to every weight: SGD with rate 1 on loss = -sum(w).
class Minus(keras.losses.Loss):
    def call(self, y, prediction):
        return -keras.ops.sum(prediction, axis=-1)
model.compile(keras.optimizers.SGD(1.0), Minus())
x = np.ones((64, 4), "float32")
model.fit(x, x[:, 0], batch_size=4, verbose=0)
random.seed(0)
for attempt in range(12):
    before, kernel = int(model.optimizer.iterations.value), model.get_weights()[0].copy()
    timer = threading.Timer(
        random.uniform(0.02, 0.4), lambda: os.kill(os.getpid(), signal.SIGINT)
    )
    timer.start()
    callbacks = [keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: None)]
    try:
        model.fit(x, x[:, 0], batch_size=4, epochs=100000, verbose=0,
                  callbacks=callbacks if attempt % 2 else None)
    except KeyboardInterrupt:
        pass
    timer.join()
    steps = int(model.optimizer.iterations.value) - before
    assert steps > 0
    np.testing.assert_allclose(model.get_weights()[0], kernel + steps, rtol=1e-5)
    for variable in model.variables + model.optimizer.variables:
        variable.numpy()
    model.evaluate(x, x[:, 0], verbose=0)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
print("whole")
"""


def test_weights_and_step_count_belong_together_after_ctrl_c():
    assert output_of(PROGRAM, JAX_PLATFORMS="cpu").strip() == "whole"
