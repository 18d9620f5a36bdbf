"""manyhands.tf gives the same names in whatever order its files are imported."""

from __future__ import annotations

import pytest

from tests.programs import output_of

NAMES = """
import importlib, pkgutil, types
import manyhands.tf as tf

def check():
    for name in tf._HOMES:
        home = importlib.import_module(f"manyhands.tf.{tf._HOMES[name]}")
        assert getattr(tf, name) is getattr(home, name), name
    for name in dir(tf):
        getattr(tf, name)
    ours = [n for n in tf._NAMESPACES if n not in tf._ELSEWHERE]
    for name in ours:
        namespace = getattr(tf, name)
        assert isinstance(namespace, types.ModuleType), name
        try:
            namespace.not_in_tensorflow
        except AttributeError as error:
            assert f"tf.{name}.not_in_tensorflow is not in manyhands.tf" in str(error), error
            assert "use:" in str(error), error
        else:
            raise AssertionError(name)
    print(len(ours), callable(tf.function))
"""


@pytest.mark.parametrize("first", ["files", "files backwards", "names"])
def test_no_file_hides_a_name(first):
    done = output_of(
        NAMES
        + f"""
files = [info.name for info in pkgutil.iter_modules(tf.__path__)]
files = files[::-1] if {first!r} == "files backwards" else files
if {first!r} == "names":
    check()
for file in files:
    importlib.import_module(f"manyhands.tf.{{file}}")
check()
"""
    )
    assert done.splitlines()[-1].endswith("True")


def test_a_program_may_look_at_its_devices_first():
    done = output_of(
        """
        import manyhands.tf as tf

        tf.config.list_physical_devices("GPU")

        @tf.function
        def double(x):
            return 2 * x

        print(int(double(tf.constant(21))))
        """
    )
    assert done.strip() == "42"


@pytest.mark.parametrize("name", ["linalg.foo", "math.foo", "io.foo", "nn.foo", "data.foo"])
def test_a_namespace_that_a_sibling_imported_says_what_to_use(name):
    done = output_of(
        f"""
        import manyhands.tf as tf
        import manyhands.tf.image, manyhands.tf.{name.split(".")[0]}

        try:
            tf.{name}
        except AttributeError as error:
            print(error)
        """
    )
    assert f"tf.{name} is not in manyhands.tf" in done
