"""What we change in Keras and JAX is one table, and can be undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import output_of

ROOT = Path(__file__).parents[2]


def test_everything_is_put_back():
    program = """
        import manyhands as mh
        import keras, numpy as np
        from manyhands.keras_bridge.install import TABLE, is_installed

        def found():
            return [vars(patch.target).get(patch.name) for patch in TABLE]

        def fitted(model):
            model.compile("sgd", "mse")
            x = np.arange(12.0).reshape(6, 2) / 12
            return model.fit(x, x.sum(1), batch_size=3, shuffle=False, verbose=0).history["loss"]

        def made():
            keras.utils.set_random_seed(1)
            return keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])

        before, wanted = found(), fitted(made())
        strategy = mh.MirroredStrategy()
        with strategy.scope():
            model = made()
        assert is_installed()
        assert all(one is not other for one, other in zip(before, found(), strict=True))
        assert np.allclose(fitted(model), wanted)
        mh.uninstall()
        assert not is_installed()
        assert all(one is other for one, other in zip(before, found(), strict=True))
        assert np.allclose(fitted(made()), wanted)
        model.set_weights(made().get_weights())
        assert np.allclose(fitted(model), wanted)  # as a plain model of Keras
        with mh.MirroredStrategy().scope():
            again = made()
        assert is_installed()
        assert np.allclose(fitted(again), wanted)
        print(len(TABLE))
    """
    assert int(output_of(program)) > 30


def test_every_change_says_what_it_is_for_and_which_test_holds_it():
    from manyhands.keras_bridge.install import TABLE

    assert len({patch.where for patch in TABLE}) == len(TABLE)
    for patch in TABLE:
        assert patch.why
        assert patch.since
        assert (ROOT / patch.contract).is_file()


@pytest.mark.parametrize("name", ["Array", "dtype"])
def test_importing_manyhands_changes_nothing_of_jax_or_numpy(name):
    program = f"""
        import jax, numpy as np
        before = dict(vars(type(jax.numpy.ones(1)))), dict(vars(np.dtype))
        import manyhands as mh
        strategy = mh.MirroredStrategy()
        assert strategy.run(lambda x: x.sum(), args=(np.ones(4, "f4"),)) == 4
        after = dict(vars(type(jax.numpy.ones(1)))), dict(vars(np.dtype))
        print(before[{["Array", "dtype"].index(name)}] == after[{["Array", "dtype"].index(name)}])
    """
    assert output_of(program) == "True\n"
