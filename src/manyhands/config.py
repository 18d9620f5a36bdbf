"""Settings: the one module that reads environment variables.

In: MANYHANDS_* variables and calls to the functions below.  Out: a Settings value.
Nothing here starts a device.

    MANYHANDS_DEVICES=4             four virtual CPU devices
    MANYHANDS_DATA_ON_DEVICE=never  always feed from the host (default: auto)
    MANYHANDS_STEPS_PER_DISPATCH=1  training steps per program launch (default: auto)
    MANYHANDS_TIMEOUT=300           seconds to wait for the other processes
    MANYHANDS_HEARTBEAT=60          seconds of silence after which a process is taken for lost
    MANYHANDS_MIN_PROCESSES=2       begin with so many where the rest does not come in time
    MANYHANDS_TOKEN=…               a secret that every process of a group must know
"""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from manyhands.errors import (
    DeviceError,
    DevicesStartedError,
    ManyhandsError,
    ManyhandsWarning,
    explain,
)

__all__ = [
    "Settings",
    "add_to_path_of_children",
    "choose_keras_backend",
    "environment",
    "has_started",
    "jax_may_use_gpus",
    "memory_growth",
    "set_data_on_device",
    "set_deterministic",
    "set_memory_fraction",
    "set_memory_growth",
    "set_steps_per_dispatch",
    "set_virtual_devices",
    "settings",
    "start_virtual_devices",
    "visible_gpus",
]

_TIMEOUT_S = 300
_HEARTBEAT_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the user asked for, or the defaults."""

    virtual_devices: int | None = None
    data_on_device: Literal["auto", "never"] = "auto"
    steps_per_dispatch: int | None = None
    timeout_s: int = _TIMEOUT_S
    heartbeat_s: int = _HEARTBEAT_S
    min_processes: int | None = None
    token: str = field(default="", repr=False)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Read MANYHANDS_* variables, naming the one that makes no sense."""
        on_device = environ.get("MANYHANDS_DATA_ON_DEVICE", "auto")
        if on_device not in ("auto", "never"):
            raise _bad_variable("MANYHANDS_DATA_ON_DEVICE", on_device, "auto or never")
        return cls(
            virtual_devices=_count(environ, "MANYHANDS_DEVICES"),
            data_on_device=on_device,
            steps_per_dispatch=_count(environ, "MANYHANDS_STEPS_PER_DISPATCH"),
            timeout_s=_count(environ, "MANYHANDS_TIMEOUT") or _TIMEOUT_S,
            heartbeat_s=_count(environ, "MANYHANDS_HEARTBEAT") or _HEARTBEAT_S,
            min_processes=_count(environ, "MANYHANDS_MIN_PROCESSES"),
            token=environ.get("MANYHANDS_TOKEN", ""),
        )


def _count(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "").strip()
    if not text or (name == "MANYHANDS_STEPS_PER_DISPATCH" and text == "auto"):
        return None
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise _bad_variable(name, text, "a whole number of at least 1")
    return int(text)


def _bad_variable(name: str, text: str, wanted: str) -> ManyhandsError:
    return ManyhandsError(
        explain(
            f"The environment variable {name} cannot be read.",
            got=f"{name}={text!r}",
            fix=f"set it to {wanted}, or unset it.",
        )
    )


_settings: Settings | None = None


def settings() -> Settings:
    """Return the settings in force; the environment is read on first use."""
    global _settings
    if _settings is None:
        _settings = Settings.from_environ(os.environ)
    return _settings


def set_virtual_devices(count: int) -> None:
    """Make this process see `count` virtual CPU devices; call it before JAX starts."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise DeviceError(
            explain(
                "set_virtual_devices needs a number of devices.",
                got=repr(count),
                fix="pass a whole number of at least 1.",
            )
        )
    _change(virtual_devices=count)
    start_virtual_devices()


def start_virtual_devices() -> None:
    """Tell JAX how many CPU devices to make, if any were asked for."""
    count = settings().virtual_devices
    if count is None:
        return
    import jax

    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError as error:
        present = jax.local_device_count("cpu")
        if present == count:
            return
        raise DevicesStartedError(
            explain(
                "Virtual devices were asked for after JAX had started its devices.",
                got=f"{count} asked for; {present} CPU device(s) already started",
                fix="call mh.config.set_virtual_devices first thing in the program, "
                f"or start it with MANYHANDS_DEVICES={count} in the environment.",
            )
        ) from error


def set_data_on_device(mode: Literal["auto", "never"]) -> None:
    """Let `fit` keep a data set that fits on the devices ("auto"), or always feed it ("never")."""
    if mode not in ("auto", "never"):
        raise ManyhandsError(
            explain(
                "Unknown mode for set_data_on_device.", got=repr(mode), fix='"auto" or "never".'
            )
        )
    _change(data_on_device=mode)


def set_steps_per_dispatch(steps: int | None) -> None:
    """Fix how many training steps one program launch runs; None chooses by the model's cost."""
    if steps is not None and steps < 1:
        raise ManyhandsError(
            explain(
                "A dispatch runs at least one step.",
                got=repr(steps),
                fix="pass a whole number of at least 1, or None to let manyhands choose.",
            )
        )
    _change(steps_per_dispatch=steps)


def _change(**changes: object) -> None:
    global _settings
    _settings = replace(settings(), **changes)  # pyright: ignore[reportArgumentType]


def has_started() -> bool:
    """Whether JAX has started its devices, after which their memory settings are fixed."""
    if "jax" not in sys.modules:
        return False
    from jax._src import xla_bridge  # nothing public says so without starting them

    return xla_bridge.backends_are_initialized()


def set_memory_growth(grow: bool) -> None:
    """Let JAX take GPU memory as it needs it, instead of three quarters at once.

    JAX reads this from the environment when it starts its devices, and from nowhere else.
    """
    _before_start("Memory growth")
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false" if grow else "true"


def memory_growth() -> bool:
    """Whether JAX takes GPU memory as it needs it."""
    return os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "").lower() in ("false", "0")


def set_memory_fraction(fraction: float) -> None:
    """Let JAX take at most this part of each GPU's memory."""
    if not 0 < fraction <= 1:
        raise DeviceError(
            explain(
                "A memory limit must be a part of what there is.",
                got=f"{fraction:.3f} of the GPU's memory",
                fix="choose a limit above zero that the GPU has.",
            )
        )
    _before_start("A memory limit")
    os.environ.pop("XLA_PYTHON_CLIENT_MEM_FRACTION", None)  # JAX refuses the old name beside it
    os.environ["XLA_CLIENT_MEM_FRACTION"] = f"{fraction:.6f}"


def set_deterministic() -> None:
    """Let XLA use only operations that give the same numbers each time, on GPUs too."""
    _before_start("Determinism")
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_deterministic_ops=true".strip()


def _before_start(what: str) -> None:
    if has_started():
        raise DevicesStartedError(
            explain(
                f"{what} must be set before JAX starts its devices.",
                got="the devices have started",
                fix="set it first thing in the program, before models and tensors are made.",
            )
        )


def jax_may_use_gpus() -> bool:
    """Whether JAX would use GPUs when it starts: allowed to, and with its CUDA packages there."""
    allowed = os.environ.get("JAX_PLATFORMS", "").lower().replace(" ", "")
    if allowed and not {"cuda", "gpu", "rocm"} & set(allowed.split(",")):
        return False
    plugins = ("jax_cuda12_plugin", "jax_cuda13_plugin", "jax_rocm7_plugin")
    return any(importlib.util.find_spec(plugin) is not None for plugin in plugins)


def visible_gpus() -> tuple[str, ...] | None:
    """Return CUDA_VISIBLE_DEVICES as its entries, or None when every GPU is visible."""
    text = os.environ.get("CUDA_VISIBLE_DEVICES")
    if text is None:
        return None
    return tuple(entry.strip() for entry in text.split(",") if entry.strip())


def environment() -> Mapping[str, str]:
    """The environment variables that others set: TF_CONFIG, Slurm's, MPI's, Kubernetes'."""
    return os.environ


def add_to_path_of_children(folder: str) -> None:
    """Put a folder on the PYTHONPATH of the processes that this one starts, once."""
    before = os.environ.get("PYTHONPATH", "")
    if folder not in before.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, before)))


def choose_keras_backend() -> None:
    """Point Keras at JAX while it is not loaded yet.

    Our own process' environment is written, since Keras reads its backend from
    nowhere else before it is imported.
    """
    if "keras" in sys.modules:
        return
    wanted = os.environ.get("KERAS_BACKEND", "jax")
    if wanted != "jax":
        warnings.warn(
            explain(
                "manyhands runs Keras on JAX and has set KERAS_BACKEND for this process.",
                got=f"KERAS_BACKEND={wanted}",
                fix="unset KERAS_BACKEND, or set it to jax, to silence this.",
            ),
            ManyhandsWarning,
            stacklevel=3,
        )
    os.environ["KERAS_BACKEND"] = "jax"
