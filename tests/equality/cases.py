"""The programs that must mean the same on many devices: 27 rows in batches of 10, so that no batch
divides by 3, 4 or 8 devices and the last batch has 7 rows."""

from __future__ import annotations

import keras
import numpy as np
from keras import layers, ops

from tests.oracle import Case

ROWS = 27


def _rng():
    return np.random.default_rng(3)


def _classes(rows=ROWS, features=6, classes=4):
    rng = _rng()
    return {
        "x": rng.normal(size=(rows, features)),
        "y": rng.integers(0, classes, size=rows),
    }


def _numbers(rows=ROWS, features=6):
    rng = _rng()
    return {"x": rng.normal(size=(rows, features)), "y": rng.normal(size=(rows, 1))}


def _images(rows=ROWS, size=8):
    rng = _rng()
    return {"x": rng.normal(size=(rows, size, size, 3)), "y": rng.integers(0, 4, size=rows)}


def _tokens(rows=ROWS, length=7, vocabulary=11):
    rng = _rng()
    x = rng.integers(1, vocabulary, size=(rows, length))
    for row, keep in enumerate(rng.integers(1, length + 1, size=rows)):
        x[row, keep:] = 0
    return {"x": x, "y": rng.integers(0, 4, size=rows)}


def _compiled(model, optimizer="adam", loss="sparse_categorical_crossentropy", **more):
    model.compile(optimizer, loss, **more)
    return model


def _mlp(classes=4, features=6, **layer):
    return keras.Sequential(
        [
            keras.Input((features,)),
            layers.Dense(8, activation="tanh", **layer),
            layers.Dense(classes, activation="softmax"),
        ]
    )


def _regressor(features=6, **layer):
    return keras.Sequential(
        [keras.Input((features,)), layers.Dense(5, activation="tanh", **layer), layers.Dense(1)]
    )


def mlp():
    return _compiled(_mlp(), metrics=["accuracy"])


def cnn():
    model = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            layers.Conv2D(4, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.DepthwiseConv2D(3, use_bias=False),
            layers.BatchNormalization(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(4, activation="softmax"),
        ]
    )
    return _compiled(model, metrics=["accuracy"])


def random_layers():
    model = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            layers.RandomFlip(seed=1),
            layers.GaussianNoise(0.2),
            layers.Conv2D(4, 3),
            layers.SpatialDropout2D(0.3),
            layers.Flatten(),
            layers.Dropout(0.4),
            layers.GaussianDropout(0.2),
            layers.AlphaDropout(0.1),
            layers.Dense(4, activation="softmax"),
        ]
    )
    return _compiled(model, metrics=["accuracy"])


def lstm():
    model = keras.Sequential(
        [
            keras.Input((5, 3)),
            layers.LSTM(4, return_sequences=True, dropout=0.2, recurrent_dropout=0.1),
            layers.Bidirectional(layers.GRU(3)),
            layers.Dense(1),
        ]
    )
    return _compiled(model, "rmsprop", "mse", metrics=["mae"])


def transformer():
    tokens = keras.Input((7,), dtype="int32")
    x = layers.Embedding(11, 8, mask_zero=True)(tokens)
    attended = layers.MultiHeadAttention(2, 4, dropout=0.1)(x, x, use_causal_mask=True)
    x = layers.LayerNormalization()(x + attended)
    x = layers.LayerNormalization()(x + layers.Dense(8, activation="gelu")(x))
    x = layers.GlobalAveragePooling1D()(x)
    model = keras.Model(tokens, layers.Dense(4, activation="softmax")(x))
    return _compiled(model, "adamw", metrics=["accuracy"])


def embedding():
    model = keras.Sequential(
        [
            keras.Input((7,), dtype="int32"),
            layers.Embedding(11, 5),
            layers.Flatten(),
            layers.Dense(4, activation="softmax"),
        ]
    )
    return _compiled(model, "adagrad", metrics=["accuracy"])


def masking():
    model = keras.Sequential(
        [
            keras.Input((7,), dtype="int32"),
            layers.Embedding(11, 5, mask_zero=True),
            layers.LSTM(4),
            layers.Dense(4, activation="softmax"),
        ]
    )
    return _compiled(model, metrics=["accuracy"], weighted_metrics=["accuracy"])


def many_in_many_out():
    a, b = keras.Input((4,), name="a"), keras.Input((3,), name="b")
    joined = layers.Concatenate()([layers.Dense(5, activation="tanh")(a), b])
    outputs = {
        "kind": layers.Dense(3, activation="softmax", name="kind")(joined),
        "size": layers.Dense(1, name="size")(joined),
    }
    return _compiled(
        keras.Model({"a": a, "b": b}, outputs),
        "adam",
        {"kind": "sparse_categorical_crossentropy", "size": "mse"},
        loss_weights={"kind": 0.3, "size": 2.0},
        metrics={"kind": ["accuracy"], "size": ["mae"]},
    )


def many_in_many_out_data():
    rng = _rng()
    return {
        "x": {"a": rng.normal(size=(ROWS, 4)), "b": rng.normal(size=(ROWS, 3))},
        "y": {"kind": rng.integers(0, 3, ROWS), "size": rng.normal(size=(ROWS, 1))},
        "sample_weight": {"kind": rng.uniform(size=ROWS), "size": rng.uniform(size=ROWS)},
    }


def weighted():
    return _compiled(_mlp(), weighted_metrics=["accuracy"])


def sample_weight_data():
    return _classes() | {"sample_weight": _rng().uniform(0, 3, size=ROWS)}


def class_weight_data():
    return _classes() | {"class_weight": {0: 0.5, 1: 2.0, 2: 1.0, 3: 3.0}}


class ActivityLoss(layers.Layer):
    def call(self, x):
        self.add_loss(0.01 * ops.sum(ops.square(x)))
        return x


def regularized():
    model = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8, kernel_regularizer="l2", bias_regularizer="l1"),
            layers.Dense(8, activity_regularizer="l2"),
            ActivityLoss(),
            layers.Dense(4, activation="softmax"),
        ]
    )
    return _compiled(model, metrics=["accuracy"])


def reduced(reduction):
    def build():
        loss = keras.losses.MeanSquaredError(reduction=reduction)
        return _compiled(_regressor(), keras.optimizers.SGD(0.01), loss)

    return build


def unreduced():
    def loss(y, prediction):
        return ops.square(y - prediction)[:, 0]

    return _compiled(_regressor(), keras.optimizers.SGD(0.01), loss)


def stateful_metrics():
    model = keras.Sequential([keras.Input((6,)), layers.Dense(1, activation="sigmoid")])
    return _compiled(
        model,
        "adam",
        "binary_crossentropy",
        metrics=[
            keras.metrics.AUC(name="auc"),
            keras.metrics.Precision(name="precision"),
            keras.metrics.Recall(name="recall"),
            keras.metrics.BinaryIoU(name="iou"),
        ],
        weighted_metrics=[keras.metrics.AUC(curve="PR", name="pr")],
    )


def binary_data():
    rng = _rng()
    return {
        "x": rng.normal(size=(ROWS, 6)),
        "y": rng.integers(0, 2, (ROWS, 1)),
        "sample_weight": rng.uniform(size=ROWS),
    }


class ArgmaxMeanIoU(keras.metrics.MeanIoU):
    def update_state(self, y_true, y_pred, sample_weight=None):
        return super().update_state(y_true, ops.argmax(y_pred, axis=-1), sample_weight)


def mean_iou():
    return _compiled(
        _mlp(),
        metrics=[ArgmaxMeanIoU(4, name="miou"), keras.metrics.SparseTopKCategoricalAccuracy(2)],
    )


def optimized(make):
    def build():
        return _compiled(_mlp(), make(), metrics=["accuracy"])

    return build


def scheduled():
    rate = keras.optimizers.schedules.CosineDecay(0.1, 5, warmup_target=0.2, warmup_steps=2)
    return _compiled(_mlp(), keras.optimizers.SGD(rate, momentum=0.9, nesterov=True))


class OwnSteps(keras.Model):
    """A model with its own train_step, test_step and compute_loss."""

    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(8, activation="tanh")
        self.out = layers.Dense(4)
        self.seen = keras.metrics.Mean(name="seen")

    def call(self, x):
        return self.out(self.hidden(x))

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        loss = ops.mean(
            keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True)
        ) + 0.1 * ops.var(y_pred)
        self.seen.update_state(loss)
        return loss

    def train_step(self, state, data):
        logs, state = super().train_step(state, data)
        return dict(logs, doubled=2 * logs["loss"]), state

    def test_step(self, state, data):
        logs, state = super().test_step(state, data)
        return dict(logs, halved=logs["loss"] / 2), state


def own_steps():
    model = OwnSteps()
    model.compile("adam", metrics=["accuracy"])
    return model


def frozen():
    model = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(8, name="still", trainable=False),
            layers.BatchNormalization(trainable=False),
            layers.Dense(4, activation="softmax"),
        ]
    )
    return _compiled(model, metrics=["accuracy"])


def shared():
    a = keras.Input((6,))
    layer = layers.Dense(6, activation="tanh")
    x = layer(layer(a))
    return _compiled(keras.Model(a, layers.Dense(4, activation="softmax")(x + layer(x))))


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = layers.Dense(8, activation="relu")
        self.norm = layers.BatchNormalization()
        self.drop = layers.Dropout(0.3)
        self.last = layers.Dense(4, activation="softmax")

    def call(self, x, training=False):
        return self.last(self.drop(self.norm(self.first(x), training=training), training=training))


def subclassed():
    return _compiled(Subclassed(), metrics=["accuracy"])


def mobilenet():
    base = keras.applications.MobileNet((64, 64, 3), alpha=0.25, weights=None, classes=4)
    return _compiled(base, keras.optimizers.SGD(0.001), metrics=["accuracy"])


def nested_data():
    rng = _rng()
    return {"x": rng.normal(size=(ROWS, 5, 3)), "y": rng.normal(size=(ROWS, 1))}


O = keras.optimizers  # noqa: E741

CASES = [
    Case("mlp", mlp, _classes),
    Case("cnn_batchnorm", cnn, _images),
    Case("random_layers", random_layers, _images),
    Case("lstm", lstm, nested_data),
    Case("transformer", transformer, _tokens),
    Case("embedding", embedding, _tokens),
    Case("masking", masking, _tokens),
    Case("many_in_many_out", many_in_many_out, many_in_many_out_data),
    Case("sample_weight", weighted, sample_weight_data),
    Case("class_weight", weighted, class_weight_data),
    Case("regularized", regularized, _classes),
    Case("loss_sum", reduced("sum"), _numbers),
    Case("loss_mean", reduced("mean"), _numbers),
    Case("loss_sum_over_batch_size", reduced("sum_over_batch_size"), _numbers),
    Case(
        "loss_mean_with_sample_weight",
        reduced("mean_with_sample_weight"),
        lambda: _numbers() | {"sample_weight": _rng().uniform(size=ROWS)},
    ),
    Case("loss_unreduced", unreduced, _numbers),
    Case("stateful_metrics", stateful_metrics, binary_data),
    Case("mean_iou", mean_iou, _classes),
    Case("clipnorm", optimized(lambda: O.SGD(0.5, clipnorm=0.05)), _classes),
    Case("global_clipnorm", optimized(lambda: O.SGD(0.5, global_clipnorm=0.05)), _classes),
    Case("clipvalue", optimized(lambda: O.Adam(0.1, clipvalue=0.01)), _classes),
    Case(
        "ema",
        optimized(lambda: O.Adam(0.1, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=3)),
        _classes,
    ),
    Case("weight_decay", optimized(lambda: O.AdamW(0.1, weight_decay=0.1)), _classes),
    Case("accumulation", optimized(lambda: O.Adam(0.1, gradient_accumulation_steps=2)), _classes),
    Case(
        "loss_scale",
        optimized(lambda: O.LossScaleOptimizer(O.Adam(0.1), dynamic_growth_steps=2)),
        _classes,
    ),
    Case("schedule", scheduled, _classes),
    Case("own_steps", own_steps, _classes),
    Case("frozen", frozen, _classes),
    Case("shared", shared, _classes),
    Case("subclassed", subclassed, _classes),
]
# Ten rows through 27 BatchNormalizations amplify a change of 1e-14 in x to 1e-7 in the second
# epoch's loss, in plain Keras: so one epoch.
APPLICATION = Case("mobilenet", mobilenet, lambda: _images(ROWS, 64), fit={"epochs": 1})
BY_NAME = {case.name: case for case in CASES}
