"""Two models, two optimizers, two tapes: a small DCGAN, in the shape of TensorFlow's tutorial."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

tf.random.set_seed(0)
images = np.random.default_rng(0).uniform(-1, 1, size=(128, 8, 8, 1)).astype("float32")
BATCH_SIZE, NOISE = 32, 6
strategy = tf.distribute.MirroredStrategy()
dataset = tf.data.Dataset.from_tensor_slices(images).shuffle(128, seed=1).batch(BATCH_SIZE)
dist_dataset = strategy.experimental_distribute_dataset(dataset)


def new_generator():
    model = tf.keras.Sequential()
    model.add(layers.Dense(4 * 4 * 8, use_bias=False, input_shape=(NOISE,)))
    model.add(layers.BatchNormalization())
    model.add(layers.LeakyReLU())
    model.add(layers.Reshape((4, 4, 8)))
    assert model.output_shape == (None, 4, 4, 8)
    model.add(layers.Conv2DTranspose(1, (5, 5), strides=(2, 2), padding="same", activation="tanh"))
    return model


def new_discriminator():
    model = tf.keras.Sequential()
    model.add(layers.Conv2D(8, (5, 5), strides=(2, 2), padding="same", input_shape=[8, 8, 1]))
    model.add(layers.LeakyReLU())
    model.add(layers.Dropout(0.3))
    model.add(layers.Flatten())
    model.add(layers.Dense(1))
    return model


with strategy.scope():
    generator, discriminator = new_generator(), new_discriminator()
    generator_optimizer = tf.keras.optimizers.Adam(1e-3)
    discriminator_optimizer = tf.keras.optimizers.Adam(1e-3)
    cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True, reduction="none")


def averaged(labels, logits):
    return tf.nn.compute_average_loss(cross_entropy(labels, logits), global_batch_size=BATCH_SIZE)


def train_step(batch):
    noise = tf.random.normal([tf.shape(batch)[0], NOISE])
    with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
        generated = generator(noise, training=True)
        real, fake = discriminator(batch, training=True), discriminator(generated, training=True)
        gen_loss = averaged(tf.ones_like(fake), fake)
        disc_loss = averaged(tf.ones_like(real), real) + averaged(tf.zeros_like(fake), fake)
    gen_gradients = gen_tape.gradient(gen_loss, generator.trainable_variables)
    disc_gradients = disc_tape.gradient(disc_loss, discriminator.trainable_variables)
    generator_optimizer.apply_gradients(zip(gen_gradients, generator.trainable_variables))
    discriminator_optimizer.apply_gradients(zip(disc_gradients, discriminator.trainable_variables))
    return gen_loss, disc_loss


@tf.function
def distributed_train_step(batch):
    gen_loss, disc_loss = strategy.run(train_step, args=(batch,))
    return (
        strategy.reduce(tf.distribute.ReduceOp.SUM, gen_loss, axis=None),
        strategy.reduce(tf.distribute.ReduceOp.SUM, disc_loss, axis=None),
    )


for _ in range(3):
    for image_batch in dist_dataset:
        gen_loss, disc_loss = distributed_train_step(image_batch)
    print("loss", float(gen_loss))
    print("loss", float(disc_loss))
