"""Modules that were imported before the program began, out of its sight until it imports them.

In: JAX and Keras, imported here.  Out: `hide`, which empties sys.modules of it and puts a finder in
its place.  A package comes back whole when it is asked for, and what it reads from the environment
when it is imported is read again: Keras' backend, JAX's settings, what JAX sets for others.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from types import ModuleType
from typing import Any


class Hidden(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives imported packages to whoever asks for them."""

    def __init__(self) -> None:
        before, environ = set(sys.modules), dict(os.environ)
        self._import_jax()
        self._jax_environ = {k: v for k, v in os.environ.items() if environ.get(k) != v}
        after_jax = set(sys.modules)
        self._import_keras()
        ours = {
            name: module
            for name, module in list(sys.modules.items())
            if name not in before and name.split(".")[0] not in sys.stdlib_module_names
        }
        self._modules = ours
        self._specs = {name: module.__spec__ for name, module in ours.items()}
        self._with_jax = {name for name in ours if name in after_jax}
        self._brought: set[str] = set()
        for name in set(os.environ) - set(environ):
            del os.environ[name]

    def _import_jax(self) -> None:
        import jax

        assert not jax._src.xla_bridge.backends_are_initialized()

    def _import_keras(self) -> None:
        os.environ["KERAS_BACKEND"] = "jax"
        import keras  # noqa: F401

    def hide(self) -> None:
        """Let a program begin without any of it."""
        for name in self._modules:
            sys.modules.pop(name, None)
        sys.meta_path.insert(0, self)

    # what Python asks

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Find a module that is hidden, having brought its package back."""
        package = fullname.split(".")[0]
        if fullname not in self._modules or not self._may_come(package):
            return None
        self._bring(package, asked_for=fullname)
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: Any) -> ModuleType:
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Leave it as it is: it has run already."""
        assert module.__spec__ is not None
        module.__spec__ = self._specs[module.__spec__.name]
        self._settle()

    # bringing packages back

    def _may_come(self, package: str) -> bool:
        """Whether a fresh import would give the same; a package that must not is forgotten."""
        if package != "keras":
            return True
        told = {name: value for name, value in os.environ.items() if name.startswith("KERAS_")}
        if told == {"KERAS_BACKEND": "jax"}:
            return True
        for name in [name for name in self._modules if name.split(".")[0] == "keras"]:
            del self._modules[name]
        return False

    def _bring(self, package: str, *, asked_for: str) -> None:
        """Put back a package; with JAX and Keras all that they have imported.

        Not the one that is asked for, which Python puts there: it would load it again.
        """
        wanted = {name for name in self._modules if name.split(".")[0] == package}
        if package in ("jax", "jaxlib", "keras"):
            wanted |= self._with_jax
        if package == "keras":
            wanted |= set(self._modules)
        self._brought = wanted - set(sys.modules)
        for name in self._brought - {asked_for}:
            sys.modules[name] = self._modules[name]

    def _settle(self) -> None:
        """Do again what depends on the environment, and on chance."""
        brought, self._brought = self._brought, set()
        if "jax" in brought:
            for name, value in self._jax_environ.items():
                os.environ.setdefault(name, value)
            _read_settings(self._modules["jax"])
        if "numpy" in brought:
            self._modules["numpy"].random.seed()


def _read_settings(jax: Any) -> None:
    """Read JAX_* as JAX does when it is imported."""
    for name, (kind, *_) in jax.config.meta.items():
        text = os.environ.get(name.upper())
        if text is not None:
            jax.config.update(name, _parsed(kind, text))


def _parsed(kind: Any, text: str) -> Any:
    if kind is bool:
        return text.lower() in ("y", "yes", "t", "true", "on", "1")
    return kind(text) if kind in (int, float) else text
