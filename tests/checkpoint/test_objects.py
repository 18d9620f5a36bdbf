"""Which objects are saved, under which names, and how they are found again."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from manyhands.checkpoint import (
    Checkpoint,
    CheckpointError,
    CheckpointMismatchError,
    UnmatchedError,
    list_variables,
)
from manyhands.data.dataset import Dataset


def dense_model(units=3):
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(units), keras.layers.Dense(1)])


def trained(model, optimizer="adam"):
    model.compile(optimizer, "mse")
    model.fit(np.ones((8, 4), "f4"), np.ones((8, 1), "f4"), verbose=0)
    return model


def names(path):
    return [name for name, _ in list_variables(path)]


def same(one, other):
    pairs = zip(one.variables, other.variables, strict=True)
    return all(np.array_equal(a.numpy(), b.numpy()) for a, b in pairs)


def test_names_are_paths_of_attributes(tmp_path):
    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.body = [keras.layers.Dense(2), keras.layers.Dense(2)]
            self._head = keras.layers.Dense(1)
            self.seen = self.add_weight(shape=(), name="any", trainable=False)
            self.add_weight(shape=(), name="nobody_holds_me")

        def call(self, x):
            return self._head(self.body[1](self.body[0](x)))

    net = Net()
    net(np.ones((1, 2)))
    path = Checkpoint(net=net).write(tmp_path / "x")
    assert names(path) == [
        "net/body/0/bias",
        "net/body/0/kernel",
        "net/body/1/bias",
        "net/body/1/kernel",
        "net/head/bias",
        "net/head/kernel",
        "net/other_trainable_variables/0",
        "net/seen",
    ]


def test_automatic_names_play_no_part(tmp_path):
    path = Checkpoint(model=dense_model()).write(tmp_path / "x")
    keras.layers.Dense(1), keras.layers.Dense(1)  # from here on Keras counts dense_4, dense_5 …
    model = dense_model()
    assert model.layers[0].name not in ("dense", "dense_0")
    Checkpoint(model=model).read(path).assert_consumed()


def test_what_is_shared_is_saved_once_and_found_by_every_way(tmp_path):
    model = trained(dense_model())
    path = Checkpoint(model=model, again=[model], optimizer=model.optimizer).write(tmp_path / "x")
    assert sum(name.endswith("0/kernel") for name in names(path)) == 1
    assert "optimizer/iterations" in names(path)
    assert not any(name.startswith("again") for name in names(path))
    for ways in (lambda m: {"model": m}, lambda m: {"again": [m]}):
        other = dense_model()
        other.compile("adam", "mse")
        other.optimizer.build(other.trainable_variables)
        Checkpoint(**ways(other)).read(path).assert_existing_objects_matched()
        assert same(model, other)
        assert same(model.optimizer, other.optimizer)  # saved as optimizer/…, found in the model


def test_root_stands_for_the_checkpoint(tmp_path):
    model = dense_model()
    path = Checkpoint(model).save(tmp_path / "ckpt")
    assert "layers/0/kernel" in names(path)
    other = dense_model()
    Checkpoint(root=other).restore(path).assert_consumed()
    assert same(model, other)


def test_metrics_seed_generators_states_and_checkpoints(tmp_path):
    class Iterator:
        def __init__(self):
            self.position = 0

        def get_state(self):
            return {"position": self.position, "key": b"\x00\xff"}

        def set_state(self, state):
            assert state["key"] == b"\x00\xff"
            self.position = state["position"]

    def make():
        return {
            "metric": keras.metrics.Mean(),
            "seed": keras.random.SeedGenerator(3),
            "inner": Checkpoint(v=keras.Variable(0.0)),
            "iterator": Iterator(),
            "rng": np.random.default_rng(1),
        }

    one, other = make(), make()
    one["metric"].update_state([1.0, 5.0])
    one["seed"].next()
    one["inner"].v.assign(7.0)
    one["iterator"].position = 41
    one["rng"].random(5)
    path = Checkpoint(**one).save(tmp_path / "ckpt")
    Checkpoint(**other).restore(path).assert_consumed()
    assert float(other["metric"].result()) == 3.0
    np.testing.assert_array_equal(other["seed"].state.numpy(), one["seed"].state.numpy())
    assert float(other["inner"].v.numpy()) == 7.0
    assert other["iterator"].position == 41
    assert other["rng"].random() == one["rng"].random()


def test_the_position_in_a_dataset(tmp_path):
    """In the middle of the second shuffled epoch, batches and all."""

    def pipeline():
        data = Dataset.from_tensor_slices(np.arange(20)).shuffle(7, seed=3).batch(3).repeat(3)
        return iter(data.map(lambda x: x * 2))

    one, other = pipeline(), pipeline()
    for _ in range(9):
        next(one)
    path = Checkpoint(iterator=one).save(tmp_path / "ckpt")
    Checkpoint(iterator=other).restore(path).assert_consumed()
    rest = list(one)
    assert len(rest) == 12
    for a, b in zip(rest, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_state_that_is_refused_leaves_the_variables_alone(tmp_path):
    class Iterator:
        def get_state(self):
            return 1

        def set_state(self, state):
            raise ValueError("not my data")

    path = Checkpoint(a=keras.Variable(1.0), z=Iterator()).write(tmp_path / "x")
    a = keras.Variable(0.0)
    with pytest.raises(ValueError, match="not my data"):
        Checkpoint(a=a, z=Iterator()).read(path)
    assert float(a.numpy()) == 0.0


def test_only_methods_that_can_be_called_so_make_a_state(tmp_path):
    class Robot:
        """Its get_state means something else; its variables are what counts."""

        def __init__(self):
            self.arm = keras.Variable(1.0)
            self.history = [0.5] * 100_000
            self.itself = [self.history]
            self.itself.append(self.itself)

        def get_state(self, joint):
            raise AssertionError

        def set_state(self, joint, value):
            raise AssertionError

    path = Checkpoint(robot=Robot()).write(tmp_path / "x")
    assert names(path) == ["robot/arm"]


def test_layers_that_derive_from_their_variables_derive_anew(tmp_path):
    one, other = keras.layers.Normalization(), keras.layers.Normalization()
    one.adapt(np.array([[1.0], [5.0]]))
    other.adapt(np.array([[0.0], [1.0]]))
    path = Checkpoint(layer=one).write(tmp_path / "x")
    Checkpoint(layer=other).read(path).assert_consumed()
    np.testing.assert_array_equal(one(np.ones((1, 1))), other(np.ones((1, 1))))


def test_loss_scaling_and_ema(tmp_path):
    def optimizer():
        return keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(use_ema=True))

    one, other = trained(dense_model(), optimizer()), trained(dense_model(), optimizer())
    path = Checkpoint(o=one.optimizer).write(tmp_path / "x")
    Checkpoint(o=other.optimizer).read(path).assert_consumed()
    assert same(one.optimizer, other.optimizer)


@pytest.mark.parametrize("units", [4, 1])
def test_another_shape_is_named_and_nothing_is_restored(tmp_path, units):
    path = Checkpoint(a=keras.Variable(1.0), model=dense_model()).write(tmp_path / "x")
    a, model = keras.Variable(0.0), dense_model(units)
    before = model.get_weights()
    message = rf"model/layers/0/kernel: saved float32\[4, 3\], here float32\[4, {units}\]"
    with pytest.raises(CheckpointMismatchError, match=message + r"[\s\S]*fix: make the model as"):
        Checkpoint(a=a, model=model).read(path)
    assert float(a.numpy()) == 0.0
    for one, other in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_another_dtype_is_named(tmp_path):
    path = Checkpoint(v=keras.Variable(1.0)).write(tmp_path / "x")
    with pytest.raises(ValueError, match=r"v: saved float32\[\], here int32\[\]"):
        Checkpoint(v=keras.Variable(1, dtype="int32")).read(path)


def test_questions_about_a_restore(tmp_path):
    path = Checkpoint(a=keras.Variable(1.0), b=keras.Variable(2.0)).save(tmp_path / "ckpt")
    part = Checkpoint(a=keras.Variable(0.0))
    status = part.restore(path)
    status.assert_existing_objects_matched().assert_nontrivial_match().expect_partial()
    status.initialize_or_restore(), status.run_restore_ops()
    with pytest.raises(
        AssertionError, match=r"no object has taken[\s\S]*: b\n[\s\S]*expect_partial"
    ):
        status.assert_consumed()
    with pytest.raises(UnmatchedError, match=r"lacks c\n[\s\S]*fix: name the objects"):
        Checkpoint(c=keras.Variable(0.0)).restore(path).assert_existing_objects_matched()
    with pytest.raises(AssertionError, match=r"holds a, b[\s\S]*fix: give the Checkpoint the same"):
        Checkpoint(c=keras.Variable(0.0)).restore(path).assert_nontrivial_match()


def test_restoring_nothing_does_nothing():
    checkpoint = Checkpoint(v=keras.Variable(1.0))
    status = checkpoint.restore(None)
    status.expect_partial().initialize_or_restore()
    for question in ("assert_consumed", "assert_nontrivial_match"):
        with pytest.raises(AssertionError, match=r"restore\(None\)[\s\S]*fix: check the directory"):
            getattr(status, question)()


def test_the_counter_counts_saves_and_is_restored(tmp_path):
    checkpoint = Checkpoint(v=keras.Variable(1.0))
    assert [checkpoint.save(tmp_path / "ckpt") for _ in range(2)] == [
        str(tmp_path / "ckpt-1"),
        str(tmp_path / "ckpt-2"),
    ]
    other = Checkpoint(v=keras.Variable(0.0))
    other.restore(tmp_path / "ckpt-2").assert_consumed()
    assert int(other.save_counter) == 2
    assert other.save(tmp_path / "ckpt") == str(tmp_path / "ckpt-3")


def test_a_checkpoint_in_a_checkpoint_counts_for_itself(tmp_path):
    inner = Checkpoint(v=keras.Variable(1.0))
    inner.save(tmp_path / "inner")
    path = Checkpoint(inner=inner).write(tmp_path / "outer")
    other = Checkpoint(v=keras.Variable(0.0))
    outer = Checkpoint(inner=other)
    outer.read(path).assert_consumed()
    assert int(other.save_counter) == 1
    assert int(outer.save_counter) == 0


def test_saving_in_a_traced_step_is_refused(tmp_path):
    checkpoint = Checkpoint(v=keras.Variable(1.0))
    with keras.StatelessScope(), pytest.raises(CheckpointError, match="fix: call it in the loop"):
        checkpoint.save(tmp_path / "ckpt")


def test_saving_and_restoring_in_the_middle_of_fit(tmp_path):
    """A callback sees the state of the step before it, and what it restores is trained on."""
    model = dense_model()
    model.compile("adam", "mse")
    checkpoint = Checkpoint(model=model, optimizer=model.optimizer)
    seen = []

    class Save(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 1:
                checkpoint.write(tmp_path / "x")
            if batch == 3:
                checkpoint.read(tmp_path / "x").assert_consumed()
            self.model.jax_state_sync()
            seen.append((int(model.optimizer.iterations.numpy()), model.get_weights()[0]))

    x = np.random.default_rng(0).normal(size=(12, 4)).astype("f4")
    model.fit(x, x[:, :1], batch_size=2, shuffle=False, verbose=0, callbacks=[Save()])
    assert [step for step, _ in seen] == [1, 2, 3, 2, 3, 4]
    np.testing.assert_array_equal(seen[1][1], seen[3][1])


@pytest.mark.parametrize("call", ["write", "read"])
def test_an_optimizer_without_its_model_in_the_middle_of_fit(tmp_path, call):
    model = trained(dense_model())
    checkpoint = Checkpoint(optimizer=model.optimizer)
    checkpoint.write(tmp_path / "x")

    class Act(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            getattr(checkpoint, call)(tmp_path / "x")

    with pytest.raises(CheckpointError, match=r"optimizer/iterations[\s\S]*fix: give"):
        model.fit(np.ones((8, 4), "f4"), np.ones((8, 1), "f4"), verbose=0, callbacks=[Act()])
