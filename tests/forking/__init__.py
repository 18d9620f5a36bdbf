"""Python programs that start in a tenth of a second: forked from a process with all imports done.

    start(["-c", "import keras"], env=…)      as subprocess.Popen([sys.executable, "-c", …])

Most of what a small program does is to import JAX and Keras. Here a server has done so once, and
forks for each program (server.py). What was imported is hidden from it until it imports the same
(hidden.py), so that it finds the world as a fresh interpreter does; manyhands itself is always
imported anew. `tests/test_forking.py` compares both starts. A program whose point is the start
itself has a fresh one: `fresh=True` in tests/programs.py.
"""

from tests.forking.client import Forked, can_fork, start

__all__ = ["Forked", "can_fork", "start"]
