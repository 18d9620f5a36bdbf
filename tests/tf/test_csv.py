"""tf.io.decode_csv: what it does not take, and lines of a dataset."""

from __future__ import annotations

import numpy as np
import pytest

import manyhands.tf as tf

WRONG = [
    ("1,2", [0], {}, "Expect 1 fields but have 2 in record 0"),
    (["1", ""], [0], {}, "Expect 1 fields but have 0 in record 1"),
    ("x", [0], {}, "Field 0 in record 0 is not a valid int32"),
    ("1.5", [0], {}, "not a valid int32"),
    ("3000000000", [0], {}, "not a valid int32"),
    ("1_0", [0.0], {}, "not a valid float32"),
    (",1", [tf.constant([], tf.string), 0], {}, "Field 0 is required but missing in record 0"),
    ('a"b', [""], {}, "has to be in quotes"),
    ('"a"b"', [""], {}, "quotes doubled"),
    ('"ab', [""], {}, "mend the line"),
    ("a\r\n", [""], {}, "line ends inside"),
    ("1", [[1, 2]], {}, "one int, float or text"),
    ("1", [True], {}, "one int, float or text"),
    ("1", [0], {"field_delim": "::"}, "one, such as ','"),
    ("1,2", [0, 0], {"select_cols": [1, 0]}, "not strictly increasing"),
    ("1,2", [0, 0], {"select_cols": [1]}, "do not match"),
]


@pytest.mark.parametrize(("line", "defaults", "options", "message"), WRONG)
def test_what_is_wrong_is_said(line, defaults, options, message):
    with pytest.raises(ValueError, match=message):
        tf.io.decode_csv(line, defaults, **options)


def test_the_lines_of_a_file_become_batches(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,name\n1,0.5,a\n2,,b\n3,2.5,\n")
    lines = tf.data.TextLineDataset(str(tmp_path / "a.csv")).skip(1)

    def parsed(line):
        x, y, name = tf.io.decode_csv(line, [0, -1.0, "nobody"])
        return {"x": x, "name": name}, y

    features, targets = next(iter(lines.map(parsed).batch(3)))
    np.testing.assert_array_equal(features["x"], [1, 2, 3])
    np.testing.assert_array_equal(features["name"], [b"a", b"b", b"nobody"])
    np.testing.assert_array_equal(targets, [0.5, -1, 2.5])
    rows = next(iter(lines.batch(3).map(lambda batch: tf.io.decode_csv(batch, [0, 0.0, ""])[0])))
    np.testing.assert_array_equal(rows, [1, 2, 3])
