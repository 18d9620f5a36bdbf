"""fit, evaluate and predict for a model that belongs to a placement."""

from manyhands.training.driver import PlacementDriver, feed_counts

__all__ = ["PlacementDriver", "feed_counts"]
