"""fit, evaluate and predict for a model that belongs to a placement."""

from manyhands.training.driver import PlacementDriver

__all__ = ["PlacementDriver"]
