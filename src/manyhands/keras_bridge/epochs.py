"""Keras' epoch iterator over a Feed.

In: what Keras' loops ask of an epoch.  Out: turns of the feed, several steps each where nobody
looks between them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from keras.src.backend.jax.trainer import JAXEpochIterator

from manyhands.keras_bridge.binding import Feeder, active

ended: Iterator[Any] = iter(())
"""In place of a feed: the step function runs nothing, and gives the metrics as they are."""


class FeedEpochIterator(JAXEpochIterator):
    """Keras' epoch iterator over a Feed, several steps a launch where nobody looks between."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        running = active.get()
        self._feeder: Feeder | None = None
        if running is not None:
            model, driver = running
            self._feeder = driver.make_feeder(model, self.data_adapter, self.steps_per_execution)

    def _get_iterator(self) -> Any:
        return super()._get_iterator() if self._feeder is None else self._feeder.open()

    def _enumerate_iterator(self) -> Generator[tuple[int, int, Any], Any, None]:
        if self._feeder is None:
            yield from super()._enumerate_iterator()
            return
        self.data_adapter.on_epoch_begin()
        num_steps = self.steps_per_epoch or self._num_batches
        if not num_steps or self._current_iterator is None or self.steps_per_epoch is None:
            self._current_iterator = self._feeder.open()
            self._steps_seen = 0
        step, seen = self._feeder.take_start()
        self._steps_seen += seen
        if step and self._nothing_is_left(num_steps):
            yield step, step - 1, ended  # which an earlier program did not come to
        for launched in self._current_iterator.begin(num_steps and num_steps - step):
            if self._num_batches and self._steps_seen >= self._num_batches:
                if self.steps_per_epoch:
                    self._interrupted_warning()
                break
            self._steps_seen += launched
            yield step, step + launched - 1, self._current_iterator
            step += launched
        if self._num_batches and self._steps_seen >= self._num_batches:
            self._steps_seen = 0
            self._feeder.finish()
            if self.steps_per_epoch is None:
                self._feeder.open_early(self._num_batches)
            else:
                self._current_iterator = self._feeder.open()
        self.data_adapter.on_epoch_end()

    def _nothing_is_left(self, num_steps: int | None) -> bool:
        """Whether a resumed epoch had just used up its data."""
        if num_steps:
            return bool(self._num_batches and self._steps_seen >= self._num_batches)
        return getattr(self._current_iterator, "resumes_at_end", False)

    @contextmanager
    def catch_stop_iteration(self) -> Generator[None, None, None]:
        """End an epoch whose data has ended before Keras thought so."""
        with super().catch_stop_iteration():
            try:
                yield
            except StopIteration:
                if self._feeder is not None:
                    self._feeder.finish()
                raise
