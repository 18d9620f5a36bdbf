"""Let Python processes that a program starts find manyhands behind `import tensorflow`, too.

In: a folder on PYTHONPATH, set by `manyhands run`; Python imports this file before anything else.
Out: a finder that costs nothing until somebody imports tensorflow.  Must not import anything heavy,
nor fail: it also runs in processes that have nothing to do with training, and in other Pythons.
"""

import importlib
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


class _LazyFinder:
    """Puts the real finder in place when tensorflow is first imported."""

    def find_spec(self, fullname, path=None, target=None):  # noqa: ARG002
        """Find tensorflow, unless it is Keras that looks for it."""
        if fullname != "tensorflow" and not fullname.startswith("tensorflow."):
            return None
        if _asked_by_keras():
            raise ModuleNotFoundError("No module named 'tensorflow'", name="tensorflow")
        sys.meta_path.remove(self)
        try:
            hook = importlib.import_module("manyhands.tf.hook")
        except ModuleNotFoundError:
            return None  # another Python, without manyhands
        hook.install()
        return hook.TensorFlowFinder().find_spec(fullname)


def _asked_by_keras():
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("importlib"):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "keras"


def _run_the_one_behind_us():
    """Run the sitecustomize that Python would have found without us."""
    ours = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours


sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
sys.meta_path.insert(0, _LazyFinder())
_run_the_one_behind_us()
