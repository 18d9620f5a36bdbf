"""Cross-entropy over a large vocabulary that keeps the logits in the dtype they come in.

The straight way keeps float32 log-probabilities for the backward pass: 6.6 GB at 32 x 1024 tokens.
This keeps the bfloat16 logits and one number a token.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


@jax.custom_vjp
def token_loss(logits, targets):
    return _forward(logits, targets)[0]


def _forward(logits, targets):
    wide = logits.astype("float32")
    total = jax.nn.logsumexp(wide, axis=-1)
    picked = jnp.take_along_axis(wide, targets[..., None].astype("int32"), axis=-1)[..., 0]
    return total - picked, (logits, targets, total)


def _backward(kept, given):
    logits, targets, total = kept
    share = jnp.exp(logits.astype("float32") - total[..., None])
    hit = jax.lax.broadcasted_iota("int32", logits.shape, logits.ndim - 1) == targets[..., None]
    return ((share - hit) * given[..., None]).astype(logits.dtype), None


token_loss.defvjp(_forward, _backward)
