from __future__ import annotations

import pytest

import manyhands as mh
from manyhands.config import Settings
from manyhands.errors import DeviceError, ManyhandsError
from tests.programs import output_of, run


def test_settings_come_from_the_environment():
    environ = {
        "MANYHANDS_DEVICES": "4",
        "MANYHANDS_DATA_ON_DEVICE": "never",
        "MANYHANDS_STEPS_PER_DISPATCH": "3",
    }
    assert Settings.from_environ(environ) == Settings(
        virtual_devices=4, data_on_device="never", steps_per_dispatch=3
    )
    assert Settings.from_environ({}) == Settings()


@pytest.mark.parametrize(
    ("name", "text", "fix"),
    [
        ("MANYHANDS_DEVICES", "many", "a whole number of at least 1"),
        ("MANYHANDS_DEVICES", "0", "a whole number of at least 1"),
        ("MANYHANDS_DATA_ON_DEVICE", "maybe", "auto or never"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(name, text, fix):
    with pytest.raises(ManyhandsError, match=f"(?s){name}='{text}'.*fix: set it to {fix}"):
        Settings.from_environ({name: text})


@pytest.mark.parametrize("count", [0, -1, 2.5, "4", True])
def test_a_number_of_devices_that_is_none_is_refused(count):
    with pytest.raises(DeviceError, match="fix: pass a whole number of at least 1"):
        mh.config.set_virtual_devices(count)


def test_unknown_modes_are_refused():
    with pytest.raises(ManyhandsError, match='"auto" or "never"'):
        mh.config.set_data_on_device("sometimes")
    with pytest.raises(ManyhandsError, match="at least 1, or None"):
        mh.config.set_steps_per_dispatch(0)


def test_the_environment_makes_virtual_devices():
    printed = output_of(
        "import manyhands as mh; print(mh.MirroredStrategy().num_replicas_in_sync)",
        MANYHANDS_DEVICES="3",
        JAX_PLATFORMS="cpu",
        fresh=True,
    )
    assert printed.strip() == "3"


def test_virtual_devices_after_the_start_say_what_to_do():
    done = run(
        """
        import jax, manyhands as mh
        jax.devices()
        try:
            mh.config.set_virtual_devices(4)
        except mh.errors.DeviceError as error:
            assert isinstance(error, RuntimeError)
            print(error)
        mh.config.set_virtual_devices(1)  # what is there already is no error
        """,
        JAX_PLATFORMS="cpu",
        fresh=True,
    )
    assert done.returncode == 0, done.stderr
    assert "4 asked for; 1 CPU device(s) already started" in done.stdout
    assert "fix: call mh.config.set_virtual_devices first thing" in done.stdout


def test_another_backend_is_named():
    source = """
        import keras
        import manyhands as mh
        try:
            mh.MirroredStrategy()
        except mh.errors.BackendError as error:
            print(error)
    """
    printed = output_of(source, fresh=True, KERAS_BACKEND="numpy")
    assert "Keras' backend is 'numpy'" in printed
    assert "fix: import manyhands before keras" in printed


def test_a_backend_that_is_only_wished_for_is_changed_and_said():
    source = "import manyhands, keras; print(keras.backend.backend())"
    done = run(source, fresh=True, KERAS_BACKEND="tensorflow")
    assert done.stdout.strip() == "jax"
    assert "unset KERAS_BACKEND" in done.stderr


def test_importing_loads_neither_keras_nor_jax():
    printed = output_of(
        "import sys, manyhands; print([m for m in ('jax', 'keras', 'rich') if m in sys.modules])",
        fresh=True,
    )
    assert printed.strip() == "[]"


def test_jax_may_use_gpus_only_where_it_is_allowed(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    for allowed, expected in {"": True, "cpu": False, "cuda,cpu": True, "CUDA": True}.items():
        monkeypatch.setenv("JAX_PLATFORMS", allowed)
        assert mh.config.jax_may_use_gpus() is expected
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.delenv("JAX_PLATFORMS")
    assert not mh.config.jax_may_use_gpus()
