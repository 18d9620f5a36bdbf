"""What users can name; a change here is a change for them."""

from __future__ import annotations

import manyhands as mh


def test_public_names():
    assert set(mh.__all__) == {
        "GradientTape",
        "InputContext",
        "CommunicationOptions",
        "MirroredStrategy",
        "MultiWorkerMirroredStrategy",
        "callbacks",
        "cluster",
        "OneDeviceStrategy",
        "ReduceOp",
        "Strategy",
        "__version__",
        "checkpoint",
        "config",
        "data",
        "devices",
        "errors",
        "get_replica_context",
        "get_strategy",
        "has_strategy",
        "in_cross_replica_context",
        "telemetry",
        "tf",
        "uninstall",
    }
    for name in mh.__all__:
        assert getattr(mh, name) is not None
    assert dir(mh) == sorted(mh.__all__)


def test_every_error_is_ours():
    errors = [
        e for e in vars(mh.errors).values() if isinstance(e, type) and issubclass(e, Exception)
    ]
    assert all(issubclass(e, mh.errors.ManyhandsError | mh.errors.ManyhandsWarning) for e in errors)
    for error in errors:
        assert error.__name__ in mh.errors.__doc__ or error is mh.errors.ManyhandsWarning
