"""tf.strings where facts cannot be recorded: in datasets, in functions, and what is refused."""

from __future__ import annotations

import pytest

import manyhands.tf as tf

lines = tf.data.Dataset.from_tensor_slices(["a b c", "D e"])


def test_inside_a_dataset():
    words = lines.map(tf.strings.lower).map(tf.strings.split)
    assert [one.numpy().tolist() for one in words] == [[b"a", b"b", b"c"], [b"d", b"e"]]
    (padded,) = words.padded_batch(2)
    assert padded.numpy().tolist() == [[b"a", b"b", b"c"], [b"d", b"e", b""]]
    sizes = lines.batch(2).map(tf.strings.length)
    assert [one.numpy().tolist() for one in sizes] == [[5, 3]]
    numbers = tf.data.Dataset.range(3).map(tf.strings.as_string).map(tf.strings.to_number)
    assert [float(one) for one in numbers] == [0, 1, 2]


def test_bytes_that_are_no_utf8_stay():
    assert tf.strings.regex_replace(b"a\xff", "a", "b").numpy() == b"b\xff"


def test_rows_of_equal_pieces():
    assert tf.strings.split(["a b", "c d"]).numpy().tolist() == [[b"a", b"b"], [b"c", b"d"]]
    assert tf.strings.split([["a b"]])[0, 0, 1] == "b"
    assert tf.strings.split(tf.constant([], tf.string)).shape == (0, 0)


def test_rows_of_unequal_pieces_are_refused():
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="there are no ragged tensors"
    ) as error:
        tf.strings.split(["a b", "c"])
    assert "rows of 1, 2 pieces" in str(error.value)
    assert "fix: split one text at a time" in str(error.value)


def test_a_function_that_writes_numbers_runs_eagerly():
    @tf.function
    def written(x):
        return tf.strings.as_string(x + 1)

    with pytest.warns(UserWarning, match="tf.strings.as_string writes values"):
        assert written(tf.constant(3)).numpy() == b"4"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.strings.substr("hello", 6, 1), "pos 6 out of range for string"),
        (lambda: tf.strings.to_number("x"), "could not correctly convert string: b'x'"),
        (lambda: tf.strings.to_number("3.5", tf.int32), "could not correctly convert"),
        (lambda: tf.strings.to_number("99999999999", tf.int32), "could not correctly convert"),
        (lambda: tf.strings.regex_replace("a", "(", ""), "Invalid pattern"),
        (lambda: tf.strings.regex_full_match("a", "[[:nothing:]]"), "Invalid pattern"),
        (
            lambda: tf.strings.as_string(1, precision=2),
            "precision not supported for datatype int32",
        ),
        (lambda: tf.strings.as_string(1.0, scientific=True, shortest=True), "Cannot select both"),
        (lambda: tf.strings.format("{} {}", [1]), "does not match 1 tensor"),
        (lambda: tf.strings.length("a", unit="WORD"), "BYTE or UTF8_CHAR"),
    ],
)
def test_what_makes_no_sense_is_refused(call, words):
    with pytest.raises(ValueError, match=words.replace("(", "\\(")):
        call()


def test_text_is_printed_as_tensorflow_does(capfd):
    tf.print(tf.constant("z"))
    tf.print("a", tf.constant("z"), tf.constant(["x", "y"]), tf.constant(True))
    assert capfd.readouterr().err == 'z\na "z" ["x" "y"] 1\n'
