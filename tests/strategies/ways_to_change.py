"""Ways to change Python between two calls of a step: what is there, what is read, the change.

A fourth part names what is given to the step as an argument.
"""

HEADER = """
import collections, contextvars, copy, dataclasses, functools, json, os, random, types
import keras, numpy as np
from keras import ops

class Box:
    shared = 2.0
    def __init__(self, **held): self.__dict__.update(held)
    def get(self, name): return getattr(self, name)
    @property
    def doubled(self): return self.value * 2

class Slotted:
    __slots__ = ("value",)
    def __init__(self, value): self.value = value

@dataclasses.dataclass
class Config:
    lr: float = 1.0
    inner: dict = dataclasses.field(default_factory=lambda: {"rates": [1.0, 2.0]})

Pair = collections.namedtuple("Pair", "first second")
"""

WAYS = {
    "a global": ("V = 1.0", "x.sum() * V", "V = 3.0"),
    "a global array in place": ("V = np.ones(3)", "(x * V).sum()", "V[1] = 5"),
    "an array of an object": ("V = Box(a=np.ones(3))", "(x * V.a).sum()", "V.a *= 2"),
    "a large array": ("V = np.ones((40000, 3))", "x.sum() * V[-1, 0]", "V[-1, 0] = 7"),
    "an array reshaped": ("V = np.arange(6.)", "x.sum() * V.shape[0]", "V.resize((2, 3))"),
    "a view": ("A = np.ones(9); V = A[::3]", "(x * V).sum()", "A[:] = 3"),
    "two levels of dicts": ("V = {'a': {'b': 1.0}}", "x.sum() * V['a']['b']", "V['a']['b'] = 2."),
    "a list in a dict": ("V = {'a': [1.0, 2.0]}", "x.sum() * V['a'][1]", "V['a'][1] = 9."),
    "five levels": (
        "V = {'a': [({'b': [Box(c=1.0)]},)]}",
        "x.sum() * V['a'][0][0]['b'][0].c",
        "V['a'][0][0]['b'][0].c = 4.",
    ),
    "an object in a list": ("V = [Box(value=1.0)]", "x.sum() * V[0].value", "V[0].value = 2.0"),
    "objects looped over": (
        "V = [Box(value=1.0), Box(value=2.0)]",
        "x.sum() * sum(box.value for box in V)",
        "V[1].value = 7.0",
    ),
    "an item of a long list": ("V = [1.0] * 5000", "x.sum() * V[4321]", "V[4321] = 3.0"),
    "a long list's sum": ("V = [1.0] * 5000", "x.sum() * sum(V)", "V[77] = 3.0"),
    "appending": ("V = [1.0]", "x.sum() * len(V)", "V.append(1)"),
    "a key": ("V = {}", "x.sum() * V.get('k', 1.0)", "V['k'] = 3.0"),
    "the order of a dict": (
        "V = {'a': 1., 'b': 2.}",
        "x.sum() * next(iter(V.values()))",
        "V['a'] = V.pop('a')",
    ),
    "a set": ("V = {1}", "x.sum() * len(V)", "V.add(2)"),
    "a set of as many": ("V = {1, 2}", "x.sum() * max(V)", "V.remove(2); V.add(9)"),
    "a deque": ("V = collections.deque([1., 2.])", "x.sum() * V[0]", "V.rotate()"),
    "a class attribute": ("V = Box()", "x.sum() * V.shared", "Box.shared = 6.0"),
    "an attribute over the class'": ("V = Box()", "x.sum() * V.shared", "V.shared = 6.0"),
    "a class' attribute by its name": ("V = Box", "x.sum() * V.shared", "V.shared = 5.0"),
    "a method replaced": (
        "V = Box(value=1.0)",
        "x.sum() * V.doubled",
        "Box.doubled = property(lambda self: 5.)",
    ),
    "a classmethod of an object": (
        "class C:\n  t = 1.0\n  @classmethod\n  def get(cls): return cls.t\nV = C()",
        "x.sum() * V.get()",
        "C.t = 3.0",
    ),
    "a classmethod of a layer": (
        "class L(keras.layers.Layer):\n  t = 1.0\n  @classmethod\n  def get(cls): return cls.t\n"
        "  def call(self, x): return x * self.get()\nV = L()",
        "ops.sum(V(x))",
        "L.t = 3.0",
    ),
    "a slot": ("V = Slotted(1.0)", "x.sum() * V.value", "V.value = 3.0"),
    "an array in a slot": ("V = Slotted(np.ones(3))", "(x * V.value).sum()", "V.value += 3.0"),
    "a property": ("V = Box(value=1.0)", "x.sum() * V.doubled", "V.value = 3.0"),
    "getattr with a name": ("V = Box(value=1.0)", "x.sum() * V.get('value')", "V.value = 3.0"),
    "getattr with a made name": (
        "V = Box(rate1=1.0)",
        "x.sum() * getattr(V, f'rate{int(True)}')",
        "V.rate1 = 3.0",
    ),
    "hasattr": ("V = Box()", "x.sum() * (2 if hasattr(V, 'extra') else 1)", "V.extra = 1"),
    "vars": ("V = Box(a=1.0)", "x.sum() * sum(vars(V).values())", "V.b = 3.0"),
    "a dataclass": ("V = Config()", "x.sum() * V.lr", "V.lr = 0.5"),
    "inside a dataclass": (
        "V = Config()",
        "x.sum() * V.inner['rates'][1]",
        "V.inner['rates'][1] = 8.0",
    ),
    "asdict": ("V = Config()", "x.sum() * dataclasses.asdict(V)['lr']", "V.lr = 3.0"),
    "deepcopy": ("V = Config()", "x.sum() * copy.deepcopy(V).lr", "V.lr = 3.0"),
    "json": ("V = {'a': [1.0]}", "x.sum() * json.loads(json.dumps(V))['a'][0]", "V['a'][0] = 2."),
    "a namedtuple's list": ("V = Pair([1.0], 0)", "x.sum() * V.first[0]", "V.first[0] = 2.0"),
    "a namespace": ("V = types.SimpleNamespace(a=1.0)", "x.sum() * V.a", "V.a = 2.0"),
    "a frozen view of a dict": (
        "D = {'a': 1.0}; V = types.MappingProxyType(D)",
        "x.sum() * V['a']",
        "D['a'] = 2.0",
    ),
    "a module": ("V = types.ModuleType('cfg'); V.LR = 1.0", "x.sum() * V.LR", "V.LR = 2.0"),
    "an imported module": (
        "import sys; sys.modules['cfg_x'] = M = types.ModuleType('cfg_x'); M.LR = 1.0",
        "x.sum() * __import__('cfg_x').LR",
        "M.LR = 2.0",
    ),
    "the environment": (
        "os.environ['MH_TEST_V'] = '1'",
        "x.sum() * float(os.environ['MH_TEST_V'])",
        "os.environ['MH_TEST_V'] = '4'",
    ),
    "getenv": (
        "os.environ['MH_TEST_V'] = '1'",
        "x.sum() * float(os.getenv('MH_TEST_V', '0'))",
        "os.environ.pop('MH_TEST_V')",
    ),
    "a function that reads": ("V = [1.0]\ndef f(): return V[0]", "x.sum() * f()", "V[0] = 3.0"),
    "a function that gives an object": (
        "V = Box(value=1.0)\ndef f(): return V",
        "x.sum() * f().value",
        "V.value = 3.0",
    ),
    "a function replaced": ("def f(): return 1.0", "x.sum() * f()", "f = lambda: 2.0"),
    "a function's attribute": ("def f(): pass\nf.a = 1.0", "x.sum() * f.a", "f.a = 2.0"),
    "a default": ("def f(v=[1.0]): return v[0]", "x.sum() * f()", "f.__defaults__[0][0] = 2.0"),
    "another default": ("def f(v=1.0): return v", "x.sum() * f()", "f.__defaults__ = (3.0,)"),
    "what a function closes over": (
        "def made():\n  a = 1.0\n  def f(): return a\n  def put(v):\n    nonlocal a\n    a = v\n"
        "  return f, put\nf, put = made()",
        "x.sum() * f()",
        "put(2.0)",
    ),
    "a closure in a table": (
        "def made(a):\n  def f(): return a[0]\n  return f\nA = [1.0]\nV = {'f': made(A)}",
        "x.sum() * V['f']()",
        "A[0] = 2.0",
    ),
    "a partial": (
        "V = [1.0]\nf = functools.partial(lambda v: v[0], V)",
        "x.sum() * f()",
        "V[0]=2.",
    ),
    "a callable object": (
        "class F:\n  a = 1.0\n  def __call__(self): return self.a\nV = F()",
        "x.sum() * V()",
        "V.a = 3.0",
    ),
    "a generator of Python": (
        "V = [1.0, 2.0]\ndef f():\n  for v in V: yield v",
        "x.sum() * sum(f())",
        "V[0] = 7.0",
    ),
    "a lambda over numbers": (
        "V = [1.0, 2.0]",
        "x.sum() * max(map(lambda v: v * V[0], V))",
        "V[0]=9.",
    ),
    "a rounded zero": ("V = 0.0", "x.sum() + np.copysign(1.0, V)", "V = -0.0"),
    "a bool for a number": ("V = 1", "x.sum() * (3 if V is True else 1)", "V = True"),
    "a cached property": (
        "class C:\n  def __init__(self): self.a = 1.0\n"
        "  @functools.cached_property\n  def b(self): return self.a\nV = C(); V.b",
        "x.sum() * V.b",
        "del V.b; V.a = 4.0",
    ),
    "__getattr__": (
        "class C:\n  def __init__(self): self.held = {'a': 1.0}\n"
        "  def __getattr__(self, name): return self.held[name]\nV = C()",
        "x.sum() * V.a",
        "V.held['a'] = 4.0",
    ),
    "a dict with attributes": (
        "class D(dict):\n  __getattr__ = dict.__getitem__\nV = D(a=D(b=1.0))",
        "x.sum() * V.a.b",
        "V.a['b'] = 4.0",
    ),
    "a user dict": ("V = collections.UserDict(a=1.0)", "x.sum() * V['a']", "V['a'] = 3.0"),
    "a chain of dicts": (
        "A = {'a': 1.0}; V = collections.ChainMap({}, A)",
        "x.sum() * V['a']",
        "A['a'] = 3.0",
    ),
    "a counter": ("V = collections.Counter('aab')", "x.sum() * V['a']", "V['a'] += 1"),
    "a bytearray": ("V = bytearray(b'ab')", "x.sum() * V[0]", "V[0] = 3"),
    "a context variable": (
        "V = contextvars.ContextVar('V', default=1.0)",
        "x.sum() * V.get()",
        "V.set(2.0)",
    ),
    "a layer's attribute": (
        "V = keras.layers.Dropout(0.5, seed=1)",
        "ops.sum(V(x, training=True) * 0) + V.rate",
        "V.rate = 0.0",
    ),
    "a layer that Keras reads": (
        "V = keras.layers.LeakyReLU(0.5)",
        "ops.sum(V(-ops.abs(x)))",
        "V.negative_slope = 0.1",
    ),
    "a layer in a model": (
        "V = keras.Sequential([keras.Input((3,)), keras.layers.LeakyReLU(0.5)])",
        "ops.sum(V(-ops.abs(x)))",
        "V.layers[0].negative_slope = 0.1",
    ),
    "an activation": (
        "V = keras.Sequential([keras.Input((3,)), keras.layers.Activation('relu')])",
        "ops.sum(V(x))",
        "V.layers[0].activation = keras.activations.tanh",
    ),
    "a layer of one's own": (
        "class L(keras.layers.Layer):\n"
        "  def __init__(self):\n    super().__init__(); self.cfg = {'a': {'b': [1.0]}}\n"
        "  def call(self, x): return x * self.cfg['a']['b'][0]\n"
        "V = keras.Sequential([keras.Input((3,)), L()])",
        "ops.sum(V(x))",
        "V.layers[0].cfg['a']['b'][0] = 4.0",
    ),
    "an array of a layer of one's own": (
        "class L(keras.layers.Layer):\n"
        "  def __init__(self):\n    super().__init__(); self.table = np.ones(3)\n"
        "  def call(self, x): return x * self.table\n"
        "V = keras.Sequential([keras.Input((3,)), L()])",
        "ops.sum(V(x))",
        "V.layers[0].table[2] = 4.0",
    ),
    "a loss": (
        "V = keras.losses.Huber(delta=1.0)",
        "V(ops.zeros_like(x), x * 9)",
        "V._fn_kwargs['delta'] = 0.1",
    ),
    "a regularizer of one's own": (
        "class R:\n  a = 1.0\n  def __call__(self, w): return self.a * ops.sum(w)\nR1 = R()\n"
        "V = keras.layers.Dense(1, kernel_initializer='ones', kernel_regularizer=R1)\n"
        "V.build((None, 3))",
        "ops.sum(V(x) * 0) + sum(V.losses)",
        "R1.a = 5.0",
    ),
    "a function that a layer calls": (
        "A = [1.0]\nV = keras.layers.Lambda(lambda x: x * A[0])",
        "ops.sum(V(x))",
        "A[0] = 5.0",
    ),
    "Python's random numbers": (
        "random.seed(1)",
        "x.sum() * random.random()",
        "random.seed(2)",
    ),
    "a generator of random numbers": (
        "V = np.random.default_rng(1)",
        "x.sum() * V.normal()",
        "V = np.random.default_rng(5)",
    ),
    "an iterator": ("V = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])", "x.sum() * next(V)", "next(V)"),
    "an argument's inside": ("V = Box(value=1.0)", "x.sum() * V.value", "V.value = 2.0", "V"),
    "a model replaced": (
        "def make(v): return keras.Sequential([keras.Input((3,)), keras.layers.Dense(1,"
        " kernel_initializer=keras.initializers.Constant(v))])\nV = Box(model=make(1.))",
        "ops.sum(V.model(x))",
        "V.model = make(3.)",
    ),
    "a layer replaced": (
        "V = [keras.layers.Rescaling(1.)]",
        "ops.sum(V[0](x))",
        "V[0] = keras.layers.Rescaling(5.)",
    ),
    "a loss replaced": (
        "V = Box(loss=keras.losses.MeanSquaredError())",
        "V.loss(ops.zeros_like(x), x * 3)",
        "V.loss = keras.losses.MeanAbsoluteError()",
    ),
    "an enum's member": (
        "import enum\nclass M(enum.Enum):\n  A = 1\n  B = 2\nT = {M.A: 1., M.B: 3.}\nV = M.A",
        "x.sum() * T[V]",
        "V = M.B",
    ),
    "an object that is a key": (
        "class K: pass\na, b = K(), K()\nT = {a: 1., b: 3.}\nV = a",
        "x.sum() * T[V]",
        "V = b",
    ),
    "a class attribute of a model": (
        "class M(keras.Model):\n  scale = 1.\n  def call(self, x): return x * self.scale\nV = M()",
        "ops.sum(V(x))",
        "V.scale = 5.",
    ),
    "an attribute that a layer lacks": (
        "class L(keras.layers.Layer):\n  def call(self, x): return x * getattr(self, 'aux', 1.)\n"
        "V = L()",
        "ops.sum(V(x))",
        "V.aux = 5.",
    ),
    "a method of a layer": (
        "class L(keras.layers.Layer):\n  def call(self, x): return x\nV = L()",
        "ops.sum(V(x))",
        "L.call = lambda self, x: x * 3",
    ),
    "call of one layer": (
        "class L(keras.layers.Layer):\n  def call(self, x): return x\nV = L()",
        "ops.sum(V(x))",
        "V.call = lambda x: x * 3",
    ),
    "__call__ of a class": (
        "class F:\n  def __call__(self): return 1.\nV = F()",
        "x.sum() * V()",
        "F.__call__ = lambda self: 3.",
    ),
    "what lru_cache gave": (
        "@functools.lru_cache\ndef cfg(): return Box(lr=1.)\ncfg()",
        "x.sum() * cfg().lr",
        "cfg().lr = 3.",
    ),
    "what an unbounded cache gave": (
        "@functools.cache\ndef cfg(): return [1.]\ncfg()",
        "x.sum() * cfg()[0]",
        "cfg()[0] = 3.",
    ),
    "what a layer's function is bound to": (
        "C = {'s': 1.}\nV = keras.layers.Lambda(functools.partial(lambda c, x: x * c['s'], C))",
        "ops.sum(V(x))",
        "C['s'] = 3.",
    ),
    "a default of an activation": (
        "C = {'s': 1.}\ndef act(x, c=C): return x * c['s']\nV = keras.layers.Activation(act)",
        "ops.sum(V(x))",
        "C['s'] = 3.",
    ),
    "another closure of the same code": (
        "def made(c):\n  return lambda x: x * c[0]\nA, B = [1.], [2.]\nf = made(A)\n"
        "V = keras.layers.Lambda(made(B))",
        "ops.sum(f(x) * V(x))",
        "B[0] = 3.",
    ),
    "a partial's keyword": (
        "f = functools.partial(lambda s: s, s=1.)",
        "x.sum() * f()",
        "f.keywords['s'] = 3.",
    ),
    "a closure made anew": (
        "def made():\n  a = 1.0\n  def f(): return a\n  def put(v):\n    nonlocal a\n    a = v\n"
        "  return f, put\nf, put = made()\nstep2 = None",
        "x.sum() * f()",
        "f, put = made(); put(2.0)",
    ),
    "an event": (
        "import threading\nV = threading.Event()",
        "x.sum() * (3. if V.is_set() else 1.)",
        "V.set()",
    ),
    "a thread's own": (
        "import threading\nV = threading.local(); V.a = 1.",
        "x.sum() * V.a",
        "V.a = 3.",
    ),
    "weak keys": (
        "import weakref\nK = Box()\nV = weakref.WeakKeyDictionary(); V[K] = 1.",
        "x.sum() * V[K]",
        "V[K] = 3.",
    ),
    "a view of a dict": ("D = {'a': 1.}\nV = D.values()", "x.sum() * sum(V)", "D['b'] = 3."),
    "a bound method of C": ("D = {'a': 1.}\nget = D.get", "x.sum() * get('a')", "D['a'] = 3."),
    "match": (
        "class C:\n  __match_args__ = ('mode',)\n  def __init__(self, mode): self.mode = mode\n"
        "V = C('a')\ndef f():\n  match V:\n    case C('a'): return 1.\n    case _: return 3.",
        "x.sum() * f()",
        "V.mode = 'b'",
    ),
    "attrgetter": (
        "import operator\nV = Box(opt=Box(lr=1.))",
        "x.sum() * operator.attrgetter('opt.lr')(V)",
        "V.opt.lr = 3.",
    ),
    "a format": ("V = Box(lr=1.)", "x.sum() * float('{0.lr}'.format(V))", "V.lr = 3."),
    "pickle": (
        "import pickle\nV = Config()",
        "x.sum() * pickle.loads(pickle.dumps(V)).lr",
        "V.lr = 3.",
    ),
    "the class of an object": (
        "class A: v = 1.\nclass B: v = 3.\nV = A()",
        "x.sum() * V.v",
        "V.__class__ = B",
    ),
    "a metaclass' attribute": (
        "class T(type): v = 1.\nclass A(metaclass=T): pass\nV = A",
        "x.sum() * V.v",
        "T.v = 3.",
    ),
    "a polynomial": ("V = np.poly1d([1., 0.])", "x.sum() * V(1.)", "V.coeffs[0] = 3."),
    "an ordered dict": (
        "V = collections.OrderedDict(a=1., b=2.)",
        "x.sum() * next(iter(V.values()))",
        "V.move_to_end('a')",
    ),
    "a swallowed error": (
        "def f(x):\n  try: return float(x.sum())\n  except Exception: return -1.",
        "x.sum() * f(x)",
        "",
    ),
    "one list in place of its like": (
        "A, B = [1.], [1.]",
        "x.sum() * (3. if A is B else 1.)",
        "B = A",
    ),
    "two lists that become one": (
        "A, B = [1.], [1.]",
        "x.sum() * (3. if A is B else 1.)",
        "A = B = [1.]",
    ),
    "one list that becomes two": (
        "A = B = [1.]",
        "x.sum() * (3. if A is B else 1.)",
        "B = [1.]",
    ),
    "a registered subclass": (
        "import abc\nclass A(abc.ABC): pass\nV = Box()",
        "x.sum() * (3. if isinstance(V, A) else 1.)",
        "A.register(Box)",
    ),
    "a number's registered class": (
        "import numbers\nV = Box()",
        "x.sum() * (3. if isinstance(V, numbers.Number) else 1.)",
        "numbers.Number.register(Box)",
    ),
    "a dispatched function": (
        "@functools.singledispatch\ndef f(v): return 1.\nV = Box()",
        "x.sum() * f(V)",
        "f.register(Box, lambda v: 3.)",
    ),
    "decimal's precision": (
        "import decimal",
        "x.sum() * float(decimal.Decimal(1) / decimal.Decimal(3))",
        "decimal.getcontext().prec = 2",
    ),
    "decimal's precision, asked": (
        "from decimal import getcontext",
        "x.sum() * getcontext().prec",
        "getcontext().prec = 5",
    ),
    "a number of decimal": (
        "from decimal import Decimal as D\nA, B = D(1), D(3)",
        "x.sum() * float(A / B)",
        "import decimal; decimal.getcontext().prec = 2",
    ),
    "a flag of JAX": (
        "import jax",
        "x.sum() * (3. if jax.config.jax_default_matmul_precision else 1.)",
        "jax.config.update('jax_default_matmul_precision', 'float32')",
    ),
    "a global that was not there": (
        "def f():\n  try: return FLAG\n  except NameError: return 1.",
        "x.sum() * f()",
        "FLAG = 3.",
    ),
    "a module's attribute that was not there": (
        "import sys\nV = sys.modules['cfg'] = types.ModuleType('cfg')",
        "x.sum() * getattr(V, 'LR', 1.)",
        "V.LR = 3.",
    ),
    "another module in its place": (
        "import sys\nsys.modules['cfg'] = types.ModuleType('cfg'); sys.modules['cfg'].a = 1.\n"
        "def f():\n  import cfg\n  return cfg.a",
        "x.sum() * f()",
        "sys.modules['cfg'] = types.ModuleType('cfg'); sys.modules['cfg'].a = 3.",
    ),
    "a seed set": (
        "keras.utils.set_random_seed(3)",
        "x.sum() * 0 + ops.sum(keras.random.normal((3,)))",
        "keras.utils.set_random_seed(3)",
    ),
    "an attribute of a variable": (
        "V = keras.Variable(1.); V.scale = 1.",
        "x.sum() * V.scale",
        "V.scale = 3.",
    ),
    "an attribute of a variable that was not there": (
        "V = keras.Variable(1.)",
        "x.sum() * getattr(V, 'scale', 1.)",
        "V.scale = 3.",
    ),
    "an optimizer's method": (
        "V = keras.Variable(1.)\no = keras.optimizers.SGD(0.1); o.build([V])\n"
        "def f(x):\n  o.apply([x.sum()], [V])\n  return V.value",
        "f(x)",
        "o.update_step = lambda *a: None",
    ),
    "a regularizer's method put back": (
        "R = keras.regularizers.L2; old = R.__call__\nR.__call__ = lambda self, x: 3. * x.sum()\n"
        "V = R(0.1)",
        "V(x)",
        "R.__call__ = old",
    ),
    "all attributes at once": (
        "V = Box(value=1.)",
        "x.sum() * V.value",
        "V.__dict__ = {'value': 3.}",
    ),
    "a function made anew, and its default": (
        "def f(a=1.): return a",
        "x.sum() * f()",
        "exec('def f(a=1.): return a', globals())\nf.__defaults__ = (3.,)",
    ),
    "an attribute named by a value": (
        "import operator\nN = 'lr'\nV = Box(lr=1.)",
        "x.sum() * operator.attrgetter(N)(V)",
        "V.lr = 3.",
    ),
    "a format from elsewhere": (
        "FMT = '{0.lr}'\nV = Box(lr=1.)",
        "x.sum() * float(FMT.format(V))",
        "V.lr = 3.",
    ),
    "getattr by another name": (
        "ga = getattr\nN = 'lr'\nV = Box(lr=1.)",
        "x.sum() * ga(V, N)",
        "V.lr = 3.",
    ),
    "a set of another kind of number": (
        "V = {1}",
        "x.sum() * (3. if isinstance(next(iter(V)), float) else 1.)",
        "V.clear(); V.add(1.0)",
    ),
    "an error's attribute": ("V = ValueError('a'); V.a = 1.", "x.sum() * V.a", "V.a = 3."),
    "an error's text": ("V = ValueError(1.)", "x.sum() * V.args[0]", "V.args = (3.,)"),
    "a method of C, bound": ("L = [1.]\nV = L.__len__", "x.sum() * V()", "L.append(1)"),
    "a partial's attribute": (
        "V = functools.partial(max, 1.); V.a = 1.",
        "x.sum() * V.a",
        "V.a = 3.",
    ),
    "the bases of a class": (
        "class A: v = 1.\nclass B: v = 3.\nclass C(A): pass\nV = C()",
        "x.sum() * V.v",
        "C.__bases__ = (B,)",
    ),
    "subclasses": (
        "class A: pass",
        "x.sum() * len(A.__subclasses__())",
        "class B(A): pass\nA.b = B",
    ),
    "a class' own name for something": (
        "class A: __version__ = 1.\nV = A()",
        "x.sum() * V.__version__",
        "A.__version__ = 3.",
    ),
    "a method that was not there": (
        "class A: pass\nV = A()",
        "x.sum() * (3. if V else 1.)",
        "A.__bool__ = lambda self: False",
    ),
    "a property's code": (
        "class A:\n  @property\n  def v(self): return 1.\nV = A()",
        "x.sum() * V.v",
        "A.v.fget.__code__ = (lambda self: 3.).__code__",
    ),
    "the class of a layer": (
        "class A(keras.layers.Layer):\n  def call(self, x): return x * 1.\n"
        "class B(keras.layers.Layer):\n  def call(self, x): return x * 3.\nV = A()",
        "ops.sum(V(x))",
        "V.__class__ = B",
    ),
    "a class made by exec": (
        "G = {}\nexec('class A:\\n  v = 1.\\n', G)\nV = G['A']()",
        "x.sum() * V.v",
        "G['A'].v = 3.",
    ),
    "a subclass of a namespace": (
        "class N(types.SimpleNamespace): v = 1.\nV = N()",
        "x.sum() * V.v",
        "N.v = 3.",
    ),
    "a subclass of random": (
        "class R(random.Random): v = 1.\nV = R(1); V.a = 1.",
        "x.sum() * V.a",
        "V.a = 3.",
    ),
    "a cell": (
        "def outer():\n  a = 1.\n  return lambda: a\nV = outer().__closure__[0]",
        "x.sum() * V.cell_contents",
        "V.cell_contents = 3.",
    ),
    "keras' epsilon": (
        "",
        "x.sum() * keras.config.epsilon() * 1e7",
        "keras.config.set_epsilon(3e-7)",
    ),
}
