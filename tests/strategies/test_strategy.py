from __future__ import annotations

import gc
import weakref

import jax
import keras
import numpy as np
import pytest

import manyhands as mh
from manyhands.strategies import get_strategy, has_strategy
from tests.equality.cases import _classes, mlp

DATA = _classes()


def names(*numbers):
    return [f"cpu:{i}" for i in numbers]


def fitted(model, **more):
    return model.fit(**DATA, batch_size=10, epochs=2, verbose=0, **more).history["loss"]


def plain_loss():
    keras.utils.set_random_seed(4)
    return fitted(mlp())


def devices_of(model):
    return set.union(*(v.value.sharding.device_set for v in model.variables))


class TestScope:
    def test_it_counts_its_replicas_and_shows_its_devices(self):
        strategy = mh.MirroredStrategy(names(0, 2))
        assert strategy.num_replicas_in_sync == 2
        assert repr(strategy) == "MirroredStrategy([CPU:0, CPU:2])"
        assert mh.OneDeviceStrategy("/cpu:3").devices == (jax.devices("cpu")[3],)
        assert mh.MirroredStrategy().num_replicas_in_sync == len(jax.local_devices())

    def test_scopes_nest_and_end(self):
        one, two = mh.MirroredStrategy(names(0, 1)), mh.OneDeviceStrategy("cpu:2")
        assert not has_strategy()
        with one.scope() as entered:
            assert entered is get_strategy() is one
            with two.scope():
                assert get_strategy() is two
            assert get_strategy() is one
        assert get_strategy() is None

    @pytest.mark.parametrize("compile_inside", [True, False])
    @pytest.mark.parametrize("fit_inside", [True, False])
    def test_compile_and_fit_inside_or_outside(self, compile_inside, fit_inside):
        strategy = mh.MirroredStrategy(names(0, 1, 2))
        keras.utils.set_random_seed(4)
        with strategy.scope():
            model = keras.Sequential(
                [
                    keras.Input((6,)),
                    keras.layers.Dense(8, activation="tanh"),
                    keras.layers.Dense(4, activation="softmax"),
                ]
            )
            if compile_inside:
                model.compile("adam", "sparse_categorical_crossentropy")
        if not compile_inside:
            model.compile("adam", "sparse_categorical_crossentropy")
        if fit_inside:
            with strategy.scope():
                loss = fitted(model)
        else:
            loss = fitted(model)
        np.testing.assert_allclose(loss, plain_loss(), rtol=1e-5)
        assert devices_of(model) == set(strategy.devices)

    def test_a_model_made_outside_is_not_touched(self):
        mh.MirroredStrategy(names(0, 1))
        model = mlp()
        fitted(model)
        assert devices_of(model) == {jax.devices("cpu")[0]}

    def test_a_model_inside_another_trains_where_the_outer_one_does(self):
        base = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8)])
        strategy = mh.MirroredStrategy(names(0, 1))
        with strategy.scope():
            model = keras.Sequential([base, keras.layers.Dense(4, activation="softmax")])
        model.compile("adam", "sparse_categorical_crossentropy")
        fitted(model)
        assert devices_of(base) == set(strategy.devices)


class TestAdopt:
    def test_an_existing_model_keeps_its_weights_and_its_optimizer(self):
        keras.utils.set_random_seed(4)
        model = mlp()
        wanted = [*fitted(model, shuffle=False), *fitted(model, shuffle=False)]
        keras.utils.set_random_seed(4)
        model = mlp()
        got = fitted(model, shuffle=False)
        assert mh.MirroredStrategy(names(0, 1, 2)).adopt(model) is model
        got += fitted(model, shuffle=False)
        np.testing.assert_allclose(got, wanted, rtol=1e-5)

    def test_strategies_can_follow_each_other(self):
        keras.utils.set_random_seed(4)
        model = mlp()
        got = []
        for strategy in (
            mh.MirroredStrategy(names(0, 1)),
            mh.OneDeviceStrategy("cpu:5"),
            mh.MirroredStrategy(names(4, 5, 6, 7)),
        ):
            strategy.adopt(model)
            got += fitted(model, shuffle=False)
            assert devices_of(model) == set(strategy.devices)
        keras.utils.set_random_seed(4)
        model = mlp()
        wanted = [loss for _ in range(3) for loss in fitted(model, shuffle=False)]
        np.testing.assert_allclose(got, wanted, rtol=1e-5)

    def test_two_models_live_side_by_side(self):
        one, two = mh.MirroredStrategy(names(0, 1)), mh.MirroredStrategy(names(2, 3, 4))
        keras.utils.set_random_seed(4)
        with one.scope():
            first = mlp()
        keras.utils.set_random_seed(4)
        with two.scope():
            second = mlp()
        for _ in range(2):
            np.testing.assert_allclose(
                fitted(first, shuffle=False), fitted(second, shuffle=False), rtol=1e-5
            )
        assert devices_of(first) == set(one.devices)
        assert devices_of(second) == set(two.devices)

    def test_only_models_can_be_adopted(self):
        with pytest.raises(mh.errors.ScopeError, match=r"(?s)got: Dense.*fix: pass a keras.Model"):
            mh.MirroredStrategy(names(0)).adopt(keras.layers.Dense(1))


class TestSaving:
    def test_a_saved_model_is_a_normal_file(self, tmp_path):
        strategy = mh.MirroredStrategy(names(0, 1, 2))
        with strategy.scope():
            model = mlp()
        fitted(model)
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        np.testing.assert_allclose(
            loaded.predict(DATA["x"], verbose=0), model.predict(DATA["x"], verbose=0), rtol=1e-5
        )
        assert devices_of(loaded) == {jax.devices("cpu")[0]}

    def test_a_model_loaded_in_the_scope_trains_on_all_devices(self, tmp_path):
        keras.utils.set_random_seed(4)
        model = mlp()
        fitted(model, shuffle=False)
        model.save(tmp_path / "model.keras")
        wanted = fitted(model, shuffle=False)
        strategy = mh.MirroredStrategy(names(0, 1, 2))
        with strategy.scope():
            loaded = keras.saving.load_model(tmp_path / "model.keras")
        np.testing.assert_allclose(fitted(loaded, shuffle=False), wanted, rtol=1e-5)
        assert devices_of(loaded) == set(strategy.devices)

    @pytest.mark.filterwarnings("ignore:Skipping variable loading")
    def test_weights_files_work_both_ways(self, tmp_path):
        with mh.MirroredStrategy(names(0, 1)).scope():
            model = mlp()
        fitted(model)
        model.save_weights(tmp_path / "w.weights.h5")
        plain = mlp()
        plain.load_weights(tmp_path / "w.weights.h5")
        model.load_weights(tmp_path / "w.weights.h5")
        for one, other in zip(plain.get_weights(), model.get_weights(), strict=True):
            np.testing.assert_array_equal(one, other)


class TestMistakes:
    @pytest.mark.parametrize("method", ["fit", "compile", "train_on_batch"])
    def test_a_model_made_outside_and_used_as_if_inside(self, method):
        model = mlp()
        given = {"compile": {}}.get(method, DATA)
        with (
            mh.MirroredStrategy(names(0, 1)).scope(),
            pytest.raises(
                mh.errors.ScopeError, match=r"(?s)made outside of it.*strategy.adopt\(model\)"
            ),
        ):
            getattr(model, method)(**given)

    def test_a_model_of_another_strategy(self):
        with mh.MirroredStrategy(names(0, 1)).scope():
            model = mlp()
        with (
            mh.MirroredStrategy(names(2, 3)).scope(),
            pytest.raises(mh.errors.ScopeError, match="made under another strategy"),
        ):
            fitted(model)


def test_models_are_collected():
    with mh.MirroredStrategy(names(0, 1)).scope():
        model = mlp()
    fitted(model)
    gone = weakref.ref(model)
    del model
    keras.utils.clear_session()
    gc.collect()
    assert gone() is None
