"""tf.config: devices and memory, in TensorFlow's words."""

from __future__ import annotations

from tests.programs import run


def test_gpus_are_rehearsed_on_virtual_devices():
    done = run(
        """
        import warnings
        warnings.simplefilter("ignore")
        import manyhands.tf as tf
        strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
        print(strategy)
        """,
        MANYHANDS_DEVICES="4",
        JAX_PLATFORMS="cpu",
    )
    assert "CPU:0, CPU:1" in done.stdout, done.stderr


def test_settings_after_the_start_raise_what_programs_catch():
    done = run(
        """
        import manyhands.tf as tf
        tf.zeros([1])
        cpu = tf.config.list_physical_devices("CPU")[0]
        try:
            tf.config.set_logical_device_configuration(
                cpu, [tf.config.LogicalDeviceConfiguration()] * 3
            )
        except RuntimeError as error:
            print("RuntimeError", "cannot be modified after being initialized" in str(error))
        try:
            tf.config.experimental.set_memory_growth(cpu, True)
        except ValueError as error:
            print("ValueError", error)
        """,
        JAX_PLATFORMS="cpu",
    )
    assert done.stdout.splitlines() == [
        "RuntimeError True",
        "ValueError Cannot set memory growth on non-GPU and non-Pluggable devices",
    ], done.stderr


def test_memory_settings_reach_jax():
    done = run(
        """
        import os
        import manyhands as mh
        mh.config.set_memory_growth(True)
        mh.config.set_memory_fraction(0.25)
        print(os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"], os.environ["XLA_CLIENT_MEM_FRACTION"])
        import jax
        jax.devices()
        try:
            mh.config.set_memory_growth(False)
        except RuntimeError as error:
            print("before JAX starts" in str(error))
        """,
        JAX_PLATFORMS="cpu",
    )
    assert done.stdout.splitlines() == ["false 0.250000", "True"], done.stderr


def test_virtual_devices_in_tensorflows_words():
    done = run(
        """
        import manyhands.tf as tf
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.experimental.set_virtual_device_configuration(
            cpu, [tf.config.experimental.VirtualDeviceConfiguration()] * 3
        )
        print(len(tf.config.list_logical_devices("CPU")))
        print(tf.distribute.MirroredStrategy().num_replicas_in_sync)
        """,
        JAX_PLATFORMS="cpu",
    )
    assert done.stdout.split() == ["3", "3"], done.stderr


def test_determinism_reaches_xla():
    done = run(
        """
        import os
        import manyhands.tf as tf
        tf.config.experimental.enable_op_determinism()
        print("deterministic_ops=true" in os.environ["XLA_FLAGS"])
        tf.zeros([1])
        try:
            tf.config.experimental.enable_op_determinism()
        except RuntimeError:
            print("too late")
        """,
        JAX_PLATFORMS="cpu",
    )
    assert done.stdout.split("\n")[:2] == ["True", "too late"], done.stderr
