"""Models that have a `train_step(self, data)` and no `call`: VAEs and GANs, as keras.io has them.

The oracle is the step itself, called batch by batch as plain Python on one device.
"""

from __future__ import annotations

import keras
import numpy as np
import pytest

import manyhands as mh
import manyhands.tf as tf

pytestmark = pytest.mark.usefixtures("float64")
X = np.random.default_rng(0).normal(size=(52, 6))
BATCH = 12
EPOCHS = 2


def dense(*units, **options):
    """Layers that are not built: nobody says what comes in."""
    return keras.Sequential([keras.layers.Dense(unit, **options) for unit in units])


class VAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = dense(8, 4), dense(8, 6)
        self.seeds = keras.random.SeedGenerator(3)
        self.total = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.total]

    def train_step(self, data):
        with tf.GradientTape() as tape:
            mean, log_var = tf.split(self.encoder(data), 2, axis=1)
            noise = keras.random.normal(mean.shape, dtype="float64", seed=self.seeds)
            given = self.decoder(mean + tf.exp(0.5 * log_var) * noise)
            kl = -0.5 * (1 + log_var - tf.square(mean) - tf.exp(log_var))
            loss = tf.reduce_mean(tf.square(given - data)) + tf.reduce_mean(kl)
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        self.total.update_state(loss)
        return {"loss": self.total.result()}

    test_step = train_step


class GAN(keras.Model):
    """Two optimizers that Keras does not see, as attributes and in a dict; a gradient penalty."""

    def __init__(self):
        super().__init__()
        self.generator, self.discriminator = dense(8, 6), dense(8, 1)
        self.random = tf.random.Generator.from_seed(5)
        self.counts = {"steps": [keras.Variable(0, dtype="int32", trainable=False)]}

    def compile(self, d_optimizer, g_optimizer):
        super().compile()
        self.d_optimizer = d_optimizer
        self.others = {"generator": [g_optimizer]}
        self.d_loss = keras.metrics.Mean(name="d_loss")
        self.g_loss = keras.metrics.Mean(name="g_loss")

    @property
    def metrics(self):
        return [self.d_loss, self.g_loss]

    def penalty(self, real, fake):
        between = real + self.random.uniform((len(real), 1), dtype="float64") * (fake - real)
        with tf.GradientTape() as tape:
            tape.watch(between)
            score = self.discriminator(between, training=True)
        slope = tape.gradient(score, between)
        return tf.reduce_mean((tf.sqrt(tf.reduce_sum(slope**2, axis=1)) - 1.0) ** 2)

    def train_step(self, data):
        real = data[0] if isinstance(data, tuple) else data
        noise = self.random.normal((len(real), 3), dtype="float64")
        for _ in range(2):
            with tf.GradientTape() as tape:
                fake = self.generator(noise, training=True)
                loss = tf.reduce_mean(self.discriminator(fake)) - tf.reduce_mean(
                    self.discriminator(real)
                )
                d_loss = loss + 10 * self.penalty(real, fake)
            weights = self.discriminator.trainable_weights
            gradients = tape.gradient(d_loss, weights)
            self.d_optimizer.apply_gradients(zip(gradients, weights, strict=True))
        with tf.GradientTape() as tape:
            g_loss = -tf.reduce_mean(self.discriminator(self.generator(noise, training=True)))
        weights = self.generator.trainable_weights
        gradients = tape.gradient(g_loss, weights)
        self.others["generator"][0].apply_gradients(zip(gradients, weights, strict=True))
        self.counts["steps"][0].assign_add(1)
        self.d_loss.update_state(d_loss)
        self.g_loss.update_state(g_loss)
        return {"d_loss": self.d_loss.result(), "g_loss": self.g_loss.result()}


def vae(**options):
    model = VAE()
    model.compile(keras.optimizers.Adam(0.01), **options)
    return model


def gan():
    model = GAN()
    model.compile(keras.optimizers.Adam(0.01), keras.optimizers.RMSprop(0.01))
    return model


def made(make, count=None, **options):
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(1)
    if count is None:
        return make(**options)
    with mh.MirroredStrategy([f"cpu:{i}" for i in range(count)]).scope():
        return make(**options)


def by_hand(make):
    """Call the step as plain Python."""
    model, history = made(make), []
    for _ in range(EPOCHS):
        model.reset_metrics()
        for start in range(0, len(X), BATCH):
            logs = model.train_step(X[start : start + BATCH])
        history.append({name: float(value) for name, value in logs.items()})
    return history, model.get_weights()


def fitted(make, count, **options):
    model = made(make, count, **options)
    history = model.fit(X, batch_size=BATCH, epochs=EPOCHS, shuffle=False, verbose=0).history
    epochs = [
        dict(zip(history, values, strict=True)) for values in zip(*history.values(), strict=True)
    ]
    return epochs, model.get_weights(), model


@pytest.mark.parametrize("count", [None, 1, 3, 4])
@pytest.mark.parametrize("make", [vae, gan])
def test_they_train_as_their_step_does_by_hand(make, count):
    wanted, wanted_weights = by_hand(make)
    got, weights, _ = fitted(make, count)
    assert [epoch.keys() for epoch in got] == [epoch.keys() for epoch in wanted]
    for one, other in zip(got, wanted, strict=True):
        for name, value in other.items():
            np.testing.assert_allclose(one[name], value, rtol=1e-9, err_msg=name)
    for one, other in zip(weights, wanted_weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("count", [None, 4])
def test_eagerly_too(count):
    wanted, wanted_weights = by_hand(vae)
    got, weights, _ = fitted(vae, count, run_eagerly=True)
    np.testing.assert_allclose(got[-1]["loss"], wanted[-1]["loss"], rtol=1e-9)
    for one, other in zip(weights, wanted_weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("count", [None, 4])
def test_everything_that_the_step_writes_is_written(count):
    _, _, model = fitted(gan, count)
    steps = EPOCHS * -(-len(X) // BATCH)
    assert int(model.counts["steps"][0].value) == steps
    assert int(model.d_optimizer.iterations.value) == 2 * steps
    assert int(model.others["generator"][0].iterations.value) == steps
    model.fit(X, batch_size=BATCH, verbose=0)
    assert int(model.counts["steps"][0].value) == steps * 3 // 2


@pytest.mark.parametrize("count", [None, 4])
def test_a_rate_that_is_changed_between_two_fits_counts(count):
    _, _, model = fitted(gan, count)
    before = [variable.numpy() for variable in model.trainable_variables]
    model.d_optimizer.learning_rate.assign(0.0)
    model.others["generator"][0].learning_rate.assign(0.0)
    model.fit(X, batch_size=BATCH, verbose=0)
    for variable, value in zip(model.trainable_variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


@pytest.mark.parametrize("count", [None, 4])
def test_batch_by_batch(count):
    model = made(gan, count)
    for _ in range(3):
        logs = model.train_on_batch(X[:BATCH], return_dict=True)
    assert logs.keys() == {"d_loss", "g_loss"}
    assert int(model.counts["steps"][0].value) == 3


@pytest.mark.parametrize("count", [None, 4])
def test_a_dataset_of_one_part_gives_it_without_a_tuple(count):
    wanted, _ = by_hand(vae)
    model = made(vae, count)
    dataset = tf.data.Dataset.from_tensor_slices(X).batch(BATCH)
    history = model.fit(dataset, epochs=EPOCHS, verbose=0).history
    np.testing.assert_allclose(history["loss"], [epoch["loss"] for epoch in wanted], rtol=1e-9)


@pytest.mark.parametrize("count", [None, 4])
def test_they_can_be_evaluated(count):
    model = made(vae, count)
    logs = model.evaluate(X, batch_size=BATCH, verbose=0, return_dict=True)
    assert logs["loss"] > 0
