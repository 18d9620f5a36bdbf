from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from manyhands.plan import cut_turns, steps_per_launch, steps_unrolled


@given(
    num_rows=st.integers(1, 400),
    batch_size=st.integers(1, 50),
    stride=st.integers(1, 20),
    fixed=st.booleans(),
)
def test_every_batch_is_launched_once_and_in_order(num_rows, batch_size, stride, fixed):
    num_batches, num_full = -(-num_rows // batch_size), num_rows // batch_size
    turns = cut_turns(
        first=0,
        num_steps=num_batches,
        num_batches=num_batches,
        num_full=num_full,
        stride=stride,
        fixed=fixed,
    )
    launched = [batch for turn in turns for launch in turn.launches for batch in launch]
    assert launched == list(range(num_batches))
    for turn in turns:
        for launch in turn.launches:
            assert len(launch) == 1 or launch.stop <= num_full, "a launch has batches of one size"
    if not fixed:
        assert sum(turn.num_steps for turn in turns) == num_batches


@given(first=st.integers(0, 30), num_steps=st.integers(1, 40), num_batches=st.integers(1, 30))
def test_an_epoch_can_start_anywhere_and_asks_for_what_it_was_told(first, num_steps, num_batches):
    first = min(first, num_batches - 1)
    turns = cut_turns(
        first=first,
        num_steps=num_steps,
        num_batches=num_batches,
        num_full=num_batches,
        stride=4,
        fixed=False,
    )
    launched = [batch for turn in turns for launch in turn.launches for batch in launch]
    assert launched == list(range(first, min(first + num_steps, num_batches)))
    asked = sum(turn.num_steps for turn in turns)
    assert asked == num_steps or first + asked > num_batches


def test_a_boundless_epoch_is_not_a_boundless_list():
    turns = cut_turns(first=0, num_steps=10**12, num_batches=11, num_full=10, stride=4, fixed=False)
    assert len(turns) < 20


def test_keras_steps_per_execution_counts_whole_strides():
    turns = cut_turns(first=0, num_steps=10, num_batches=10, num_full=10, stride=3, fixed=True)
    assert [turn.num_steps for turn in turns] == [3, 3, 3, 3]
    assert [len(turn.launches) for turn in turns] == [1, 1, 1, 1]


def steps(flops, platform="gpu", num_full=468, batch_bytes=400_000):
    return steps_per_launch(
        flops,
        platform=platform,
        num_full=num_full,
        batch_bytes=batch_bytes,
        limit_bytes=64 * 2**20,
    )


def test_small_steps_go_many_at_a_time_and_large_ones_alone():
    assert steps(3e7) == 52  # divides 468
    assert steps(6e12) == 1
    assert steps(None) == 1
    assert steps(3e7, num_full=5) == 5
    assert steps(3e7, num_full=467) == 64  # a prime: whole launches, then single steps


@given(
    flops=st.floats(1, 1e15),
    num_full=st.integers(0, 10_000),
    batch_bytes=st.integers(0, 10**9),
    platform=st.sampled_from(["cpu", "gpu", "tpu", "unheard of"]),
)
def test_a_launch_is_never_longer_than_the_data_or_its_size_allows(
    flops, num_full, batch_bytes, platform
):
    chosen = steps(flops, platform, num_full, batch_bytes)
    assert 1 <= chosen <= max(1, num_full)
    assert chosen == 1 or chosen * batch_bytes <= 64 * 2**20


def test_short_steps_follow_each_other_on_a_gpu():
    assert steps_unrolled(52, platform="gpu") == 4
    assert steps_unrolled(8, platform="gpu") == 1
    assert steps_unrolled(52, platform="cpu") == 1
