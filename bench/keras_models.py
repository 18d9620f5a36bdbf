"""The three models in Keras, as a user would write them; every Keras rival trains these."""

from __future__ import annotations

import keras
from keras import layers, ops

from bench.sizes import VOCABULARY


def build(name: str) -> keras.Model:
    return {"mlp": mlp, "resnet50": resnet50, "gpt2": gpt2}[name.split("-")[0]]()


def mlp() -> keras.Model:
    model = keras.Sequential(
        [keras.Input((784,)), layers.Dense(64, activation="relu"), layers.Dense(10)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    return model


def resnet50() -> keras.Model:
    keras.config.set_dtype_policy("mixed_bfloat16")
    model = keras.applications.ResNet50(weights=None, classifier_activation=None)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss)
    return model


class Embed(layers.Layer):
    """Tokens and positions in; backwards, hidden states to logits with the same table."""

    def __init__(self, vocabulary: int, length: int, width: int):
        super().__init__()
        self.tokens = self.add_weight((vocabulary, width), "normal", name="tokens")
        self.positions = self.add_weight((length, width), "normal", name="positions")

    def call(self, tokens):
        table, positions = (ops.cast(w, self.compute_dtype) for w in (self.tokens, self.positions))
        return ops.take(table, tokens, axis=0) + positions

    def logits(self, hidden):
        return ops.matmul(hidden, ops.transpose(ops.cast(self.tokens, hidden.dtype)))


def gelu(x):
    """The tanh form of gelu, written with a sigmoid, and computed again in the backward pass."""
    return keras.remat(lambda x: x * ops.sigmoid(1.5957691216 * (x + 0.044715 * x * x * x)))(x)


class Block(layers.Layer):
    """One transformer block, normalised first, on tokens laid end to end.

    Two dims instead of three: then XLA sums the gradients of biases without transposing first.
    """

    def __init__(self, length: int, width: int, heads: int):
        super().__init__()
        self.shape = (-1, length, heads, width // heads)
        self.norm_1, self.norm_2 = (layers.LayerNormalization(epsilon=1e-5) for _ in range(2))
        self.qkv = [layers.Dense(width) for _ in range(3)]
        self.out, self.up, self.down = (layers.Dense(n * width) for n in (1, 4, 1))

    def build(self, shape):
        for layer in (self.norm_1, self.norm_2, *self.qkv, self.out, self.up):
            layer.build(shape)
        self.down.build((*shape[:-1], 4 * shape[-1]))

    def call(self, x):
        normed = self.norm_1(x)
        q, k, v = (ops.reshape(layer(normed), self.shape) for layer in self.qkv)
        attended = ops.dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(ops.reshape(attended, (-1, x.shape[-1])))
        return x + self.down(gelu(self.up(self.norm_2(x))))


class GPT2(keras.Model):
    """GPT-2 small: 12 blocks of width 768."""

    def __init__(self, *, length=1024, width=768, heads=12, blocks=12):
        super().__init__()
        self.embed = Embed(VOCABULARY, length, width)
        self.blocks = [Block(length, width, heads) for _ in range(blocks)]
        self.norm = layers.LayerNormalization(epsilon=1e-5)

    def call(self, tokens):
        x = self.embed(tokens)
        x = ops.reshape(x, (-1, x.shape[-1]))
        for block in self.blocks:
            x = block(x)
        logits = self.embed.logits(self.norm(x))
        return ops.reshape(logits, (-1, tokens.shape[1], VOCABULARY))

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):  # noqa: ARG002
        from bench.token_loss import token_loss  # JAX only; the other models run anywhere

        return ops.mean(token_loss(y_pred, y))


def gpt2() -> keras.Model:
    keras.config.set_dtype_policy("mixed_bfloat16")
    model = GPT2()
    model.compile(keras.optimizers.AdamW(3e-4, weight_decay=0.1))
    return model
