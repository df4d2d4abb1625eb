"""The bytes on the wire: those of openpi, and nothing else is read."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from rbench.remote import agent_server
from rbench.remote.agent_server import generator_from, generator_state, packed, unpacked

#: Written by msgpack_numpy of openpi-client 0.1.2.
GOLDEN: list[tuple[str, Any, str]] = [
    (
        "float32",
        {"x": np.arange(3, dtype=np.float32)},
        "81a17884c40b5f5f6e6461727261795f5fc3c40464617461c40c000000000000803f00000040c4056474797065a33c6634c405736861706591"
        "03",
    ),
    (
        "picture",
        {"image": np.arange(12, dtype=np.uint8).reshape(2, 2, 3)},
        "81a5696d61676584c40b5f5f6e6461727261795f5fc3c40464617461c40c000102030405060708090a0bc4056474797065a37c7531c4057368"
        "61706593020203",
    ),
    (
        "not contiguous",
        {"t": np.arange(6, dtype=np.float64).reshape(2, 3).T},
        "81a17484c40b5f5f6e6461727261795f5fc3c40464617461c43000000000000000000000000000000840000000000000f03f00000000000010"
        "4000000000000000400000000000001440c4056474797065a33c6638c4057368617065920302",
    ),
    (
        "no dimension",
        {"z": np.array(2.5)},
        "81a17a84c40b5f5f6e6461727261795f5fc3c40464617461c4080000000000000440c4056474797065a33c6638c405736861706590",
    ),
    (
        "booleans",
        {"m": np.array([True, False])},
        "81a16d84c40b5f5f6e6461727261795f5fc3c40464617461c4020100c4056474797065a37c6231c40573686170659102",
    ),
    (
        "nothing in it",
        {"e": np.zeros((0, 8), dtype=np.float32)},
        "81a16584c40b5f5f6e6461727261795f5fc3c40464617461c400c4056474797065a33c6634c4057368617065920008",
    ),
    (
        "numbers of numpy",
        {"a": np.float32(1.5), "b": np.int64(-2), "c": np.bool_(True), "d": np.float64(0.25)},
        "84a16183c40d5f5f6e7067656e657269635f5fc3c40464617461cb3ff8000000000000c4056474797065a33c6634a16283c40d5f5f6e706765"
        "6e657269635f5fc3c40464617461fec4056474797065a33c6938a16383c40d5f5f6e7067656e657269635f5fc3c40464617461c3c405647479"
        "7065a37c6231a164cb3fd0000000000000",
    ),
    (
        "plain data",
        {"prompt": "größe", "n": 3, "f": 0.5, "none": None, "yes": True, "list": [1, "a", {"k": []}]},
        "86a670726f6d7074a76772c3b6c39f65a16e03a166cb3fe0000000000000a46e6f6e65c0a3796573c3a46c6973749301a16181a16b90",
    ),
]


@pytest.mark.parametrize(("value", "golden"), [case[1:] for case in GOLDEN], ids=[case[0] for case in GOLDEN])
def test_bytes_are_those_of_openpi(value: Any, golden: str) -> None:
    assert packed(value).hex() == golden


@pytest.mark.parametrize(("value", "golden"), [case[1:] for case in GOLDEN], ids=[case[0] for case in GOLDEN])
def test_bytes_of_openpi_are_read(value: dict[str, Any], golden: str) -> None:
    read = unpacked(bytes.fromhex(golden))
    assert read.keys() == value.keys()
    for key, expected in value.items():
        np.testing.assert_array_equal(read[key], expected)
        assert getattr(read[key], "dtype", None) == getattr(expected, "dtype", None) or key == "d"


def test_arrays_arrive_read_only() -> None:
    assert not unpacked(packed({"x": np.zeros(3)}))["x"].flags.writeable


def test_floats_arrive_bit_for_bit() -> None:
    numbers = np.random.default_rng(0).standard_normal(1000)
    assert unpacked(packed({"x": numbers}))["x"].tobytes() == numbers.tobytes()
    assert [float(n) for n in numbers] == unpacked(packed([float(n) for n in numbers]))


@pytest.mark.parametrize(
    "value",
    [np.array([object()]), np.array([1j]), np.zeros(1, dtype="f4,f4"), {1, 2}, object(), 2**70, np.complex64(1)],
    ids=["objects", "complex", "records", "a set", "an object", "a huge number", "a complex number"],
)
def test_what_has_no_form_is_not_sent(value: Any) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        packed({"x": value})


def test_a_structure_that_holds_itself_is_not_sent() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="cannot be sent"):
        packed(loop)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x91" * 100_000,
        b"\xdd\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xa4\xff\xff\xff\xff",
        msgpack.packb(msgpack.ExtType(1, b"")),
        msgpack.packb({b"__npgeneric__": True, b"data": [1], b"dtype": "<f4"}),
        msgpack.packb({b"__npgeneric__": True, b"data": 1, b"dtype": "O"}),
        msgpack.packb({b"__ndarray__": True, b"data": b"", b"dtype": "<f0", b"shape": [4]}),
        msgpack.packb({b"__ndarray__": True, b"data": b"\0" * 4, b"dtype": "<f4", b"shape": [1] * 40}),
        msgpack.packb({(1, 2): 3}),
    ],
    ids=[
        "nothing",
        "no msgpack",
        "deep",
        "a long list",
        "long bytes",
        "broken text",
        "an extension",
        "a list for a number",
        "an object",
        "no size",
        "many dimensions",
        "a list as key",
    ],
)
def test_what_is_no_message_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"a message that cannot be read: \S"):
        unpacked(data)


@pytest.mark.parametrize("name", ["PCG64", "PCG64DXSM"])
def test_a_generator_goes_on_where_it_was(name: str) -> None:
    rng = np.random.Generator(getattr(np.random, name)(7))
    rng.random(5)
    rng.integers(0, 10, dtype=np.uint32)  # half a word is kept
    again = generator_from(generator_state(rng))
    assert rng.random(8).tolist() == again.random(8).tolist()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"bit_generator": "RandomState"}', '{"bit_generator": "PCG64"}', "1", 3]
)
def test_what_is_no_generator_is_a_value_error(text: Any) -> None:
    with pytest.raises(ValueError, match="not the state of a generator"):
        generator_from(text)


def test_a_generator_whose_positions_numpy_does_not_check_is_refused() -> None:
    state = generator_state(np.random.Generator(np.random.MT19937(7)))
    with pytest.raises(ValueError, match="not the state of a generator"):
        generator_from(state.replace('"pos": 624', '"pos": 99999999'))


def test_deep_nesting_is_no_generator() -> None:
    with pytest.raises(ValueError, match="not the state of a generator"):
        generator_from("[" * 200_000)


def test_the_serving_file_stands_alone_and_is_python_3_8() -> None:
    source = Path(agent_server.__file__).read_text()
    tree = ast.parse(source, feature_version=(3, 8))
    imported = {
        (alias.name if isinstance(node, ast.Import) else node.module or "").partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert not {name for name in imported if name.startswith("rbench")}
    assert {"msgpack", "numpy", "websockets"} < imported
