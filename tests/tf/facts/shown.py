"""How the programs of the facts show what they computed."""

import numpy as np


def n(v):
    if v is None:
        return None
    if isinstance(v, (list, tuple)):
        return [n(x) for x in v]
    return np.round(np.asarray(v).astype("float64"), 4).tolist()


def sec(name):
    print("##", name)


def T(f):
    try:
        r = f()
    except Exception as e:
        r = ("EXC", type(e).__name__)
    print(r if isinstance(r, tuple) and r and r[0] == "EXC" else n(r))
