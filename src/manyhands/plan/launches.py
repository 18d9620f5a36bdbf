"""How many training steps one program launch runs, and how an epoch is cut into launches.

In: an estimate of a step's work, and how many batches there are.  Out: numbers and Turns.
Pure arithmetic, and the same every time: no clock is read, so two runs cut alike.
"""

from __future__ import annotations

from dataclasses import dataclass

_FLOPS_PER_S = {"cpu": 2e10, "gpu": 2e13, "tpu": 5e13}
_LEAST_STEP_S = {"cpu": 3e-4, "gpu": 3e-5, "tpu": 3e-5}
_LAUNCH_S = 0.1
"""A launch should take about this long: rare enough to cost nothing, often enough to watch."""
_MOST_STEPS = 64
_WORTHWHILE_STEPS = 8


_UNROLLED_FROM = 16
_UNROLLED = 4


@dataclass(frozen=True, slots=True)
class Turn:
    """What Keras' loop sees as one iteration: the steps it counts, and the launches that do them.

    A launch is a range of batch numbers, all of the same size.
    """

    num_steps: int
    launches: tuple[range, ...]


def steps_per_launch(
    flops: float | None, *, platform: str, num_full: int, batch_bytes: int, limit_bytes: int
) -> int:
    """Choose how many steps one launch runs: many small ones, or one large one."""
    if not flops or num_full < 2:
        return 1
    step_s = max(flops / _FLOPS_PER_S.get(platform, 2e13), _LEAST_STEP_S.get(platform, 3e-5))
    most = min(_MOST_STEPS, int(_LAUNCH_S / step_s), max(1, limit_bytes // max(1, batch_bytes)))
    if most < 2:
        return 1
    if most >= num_full:
        return num_full
    even = next((k for k in range(most, _WORTHWHILE_STEPS - 1, -1) if num_full % k == 0), None)
    return even or most


def meeting(stride: int, every: int | None) -> int:
    """Shorten launches so that they end where somebody looks, each so many steps."""
    if every is None:
        return stride
    return next(length for length in range(min(stride, every), 0, -1) if every % length == 0)


def steps_unrolled(num_steps: int, *, platform: str) -> int:
    """Choose how many steps of a launch are laid out one after the other in its loop.

    On a GPU a short step costs a fifth less when four follow each other without the loop's own
    bookkeeping; a CPU gains nothing, and long steps would only compile longer.
    """
    return _UNROLLED if platform != "cpu" and num_steps >= _UNROLLED_FROM else 1


def cut_turns(
    *, first: int, num_steps: int, num_batches: int, num_full: int, stride: int, fixed: bool
) -> list[Turn]:
    """Cut an epoch's steps into turns, starting at batch `first`.

    `fixed` keeps Keras' steps_per_execution: every turn counts `stride` steps, and takes as many
    as there are batches.  Otherwise turns of `stride` full batches, then single ones.  An epoch
    that asks for more than there is gets one turn without work, which ends it.
    """
    num_steps = min(num_steps, num_batches - first + stride)
    if fixed:
        starts = range(first, first + num_steps, stride)
        return [Turn(stride, _even_launches(s, stride, num_batches, num_full)) for s in starts]
    last = min(first + num_steps, num_batches)
    many = max(0, min(last, num_full) - first) // stride
    turns = [
        Turn(stride, (range(s, s + stride),)) for s in range(first, first + many * stride, stride)
    ]
    singles = range(first + many * stride, max(last, first + num_steps))
    return turns + [Turn(1, (range(s, s + 1),) if s < num_batches else ()) for s in singles]


def _even_launches(start: int, stride: int, num_batches: int, num_full: int) -> tuple[range, ...]:
    steps = range(start, min(start + stride, num_batches))
    if len(steps) == stride and start + stride <= num_full:
        return (steps,)
    return tuple(range(s, s + 1) for s in steps)
