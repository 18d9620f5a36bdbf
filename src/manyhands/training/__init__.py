"""fit, evaluate and predict for a model that belongs to an engine."""

from manyhands.training.driver import EngineDriver, feed_counts

__all__ = ["EngineDriver", "feed_counts"]
