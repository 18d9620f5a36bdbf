"""tf.random: random tensors, from one seed for the program or from a seed of their own.

A program's seed is Keras' (`tf.random.set_seed` is `keras.utils.set_random_seed`), so a seeded
program draws the same numbers on any number of devices.  Inside `Dataset.map` each row has a key of
its own.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from manyhands.data.dataset.randomness import row_key
from manyhands.keras_bridge.seeds import draw_key
from manyhands.tf.dtypes import as_dtype, on_device
from manyhands.tf.known_shapes import as_dims, want_values
from manyhands.tf.tensor import tensor


def key(seed: Any = None) -> Any:
    """Draw a key: the row's inside a dataset's map, the program's elsewhere."""
    of_row = row_key()
    if of_row is not None:
        return of_row
    return draw_key(_GENERATORS.get(seed))


class _Generators:
    """One generator a seed: calls with one seed give a sequence of their own."""

    def __init__(self) -> None:
        self._of: dict[int, Any] = {}

    def get(self, seed: Any) -> Any:
        if seed is None:
            return None
        if seed not in self._of:
            self._of[seed] = keras.random.SeedGenerator(int(seed))
        return self._of[seed]

    def clear(self) -> None:
        self._of.clear()


_GENERATORS = _Generators()


def set_seed(seed: int) -> None:
    """Seed the program."""
    _GENERATORS.clear()
    keras.utils.set_random_seed(int(seed))


def _seeded(seed: Any) -> Any:
    words = (
        np.asarray(seed).astype("uint32")
        if not hasattr(seed, "aval")
        else tensor(seed).astype("uint32")
    )
    return jax.random.wrap_key_data(jnp.asarray(words), impl="threefry2x32")


def _normal(drawn: Any, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Any:
    return mean + stddev * jax.random.normal(drawn, as_dims(shape), on_device(dtype))


def _truncated_normal(drawn: Any, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Any:
    dims, dtype = as_dims(shape), on_device(dtype)
    return mean + stddev * jax.random.truncated_normal(drawn, -2, 2, dims, dtype)


def _uniform(drawn: Any, shape: Any, minval: Any, maxval: Any, dtype: Any) -> Any:
    if as_dtype(dtype).is_integer:
        if maxval is None:
            raise ValueError("Must specify maxval for integer dtype")
        return jax.random.randint(drawn, as_dims(shape), minval, maxval, on_device(dtype))
    maxval = 1 if maxval is None else maxval
    return jax.random.uniform(drawn, as_dims(shape), on_device(dtype), minval, maxval)


def normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    seed: Any = None,
    name: Any = None,
) -> Any:
    """Numbers around a mean."""
    del name
    return _normal(key(seed), shape, mean, stddev, dtype)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    seed: Any = None,
    name: Any = None,
) -> Any:
    """Numbers around a mean, none further off than two standard deviations."""
    del name
    return _truncated_normal(key(seed), shape, mean, stddev, dtype)


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    seed: Any = None,
    name: Any = None,
) -> Any:
    """Numbers anywhere between two bounds."""
    del name
    return _uniform(key(seed), shape, minval, maxval, dtype)


def shuffle(value: Any, seed: Any = None, name: Any = None) -> Any:
    """Put rows in random order."""
    del name
    return jax.random.permutation(key(seed), tensor(value))


def categorical(
    logits: Any, num_samples: int, dtype: Any = "int64", seed: Any = None, name: Any = None
) -> Any:
    """Draw classes by their logits, so many a row."""
    del name
    logits = tensor(logits)
    drawn = jax.random.categorical(
        key(seed), logits[:, None, :], shape=(logits.shape[0], int(num_samples))
    )
    return drawn.astype(on_device(dtype))


def gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = "float32",
    seed: Any = None,
    name: Any = None,
) -> Any:
    """Gamma-distributed numbers."""
    del name
    alpha = tensor(alpha)
    drawn = jax.random.gamma(key(seed), alpha, (*as_dims(shape), *alpha.shape), on_device(dtype))
    return drawn if beta is None else drawn / tensor(beta)


def poisson(
    shape: Any, lam: Any, dtype: Any = "float32", seed: Any = None, name: Any = None
) -> Any:
    """Poisson-distributed counts."""
    del name
    lam = tensor(lam)
    return jax.random.poisson(key(seed), lam, (*as_dims(shape), *lam.shape)).astype(
        on_device(dtype)
    )


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    name: Any = None,
    **_: Any,
) -> Any:
    """Numbers between two bounds, by a seed alone."""
    del name
    return _uniform(_seeded(seed), shape, minval, maxval, dtype)


def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    name: Any = None,
    **_: Any,
) -> Any:
    """Numbers around a mean, by a seed alone."""
    del name
    return _normal(_seeded(seed), shape, mean, stddev, dtype)


def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    name: Any = None,
    **_: Any,
) -> Any:
    """Numbers around a mean within two standard deviations, by a seed alone."""
    del name
    return _truncated_normal(_seeded(seed), shape, mean, stddev, dtype)


class Generator:
    """A generator with a state of its own."""

    def __init__(self, seed: Any = None) -> None:
        self._seeds = keras.random.SeedGenerator(None if seed is None else int(seed))

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """Make one that starts at this seed."""
        del alg
        return cls(seed)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """Make one that starts anywhere."""
        del alg
        return cls()

    def _key(self) -> Any:
        return draw_key(self._seeds)

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = "float32",
        name: Any = None,
    ) -> Any:
        """Numbers around a mean."""
        del name
        return _normal(self._key(), shape, mean, stddev, dtype)

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = "float32",
        name: Any = None,
    ) -> Any:
        """Numbers between two bounds."""
        del name
        return _uniform(self._key(), shape, minval, maxval, dtype)

    def make_seeds(self, count: int = 1) -> Any:
        """Seeds for the stateless functions: two words each."""
        return jax.random.bits(self._key(), (2, int(count))).astype("int32")

    def split(self, count: int = 1) -> list[Generator]:
        """Make generators whose numbers have nothing to do with its own, nor with each other's."""
        seeds = jax.random.bits(self._key(), (int(count),)) >> 1
        want_values(seeds, "Generator.split makes generators")
        return [Generator(int(seed)) for seed in seeds]

    def reset_from_seed(self, seed: int) -> None:
        """Start again at this seed."""
        self._seeds.state.assign(keras.random.SeedGenerator(int(seed)).state)


def get_global_generator() -> Generator:
    """A generator for everybody."""
    global _shared
    if _shared is None:
        _shared = Generator()
    return _shared


_shared: Generator | None = None
