"""Expressions: what is taken, one spelling for one meaning, and what is refused at its place."""

import ast
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.bandmath.computed import Computed, canonical, computed_from_json
from scenemosaic.bandmath.evaluate import evaluate
from scenemosaic.bandmath.parser import ALLOWED, FUNCTIONS, MAX_CHARS, parse
from scenemosaic.bandmath.tree import BINDING, Band, Call, Node, Number, spelled
from scenemosaic.errors import InputError

_BINARY = [name for name in BINDING if name not in ("neg", "not")]


def _calls(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    binary = st.builds(Call, st.sampled_from(_BINARY), st.tuples(nodes, nodes))
    unary = st.builds(Call, st.sampled_from(["neg", "not", "abs", "sqrt"]), st.tuples(nodes))
    ternary = st.builds(Call, st.sampled_from(["where", "clip"]), st.tuples(nodes, nodes, nodes))
    return binary | unary | ternary


_numbers = st.floats(0, 1e30, allow_subnormal=False).map(Number)
_bands = st.integers(1, 9).map(Band)
# No constant exponent here: large ones are refused.
TREES = st.recursive(_bands, _calls, max_leaves=12) | st.builds(
    Call, st.just("*"), st.tuples(_numbers, st.recursive(_bands, _calls, max_leaves=6))
)


@given(TREES)
def test_a_tree_is_spelled_so_that_it_comes_back(tree: Node) -> None:
    text = spelled(tree)
    assert spelled(parse(text)[0]) == text
    if "<" not in text and "=" not in text and ">" not in text:  # chains come back as 'and'
        assert parse(text) == (tree,)


@given(TREES)
def test_white_space_and_parentheses_that_change_nothing_change_nothing(tree: Node) -> None:
    text = spelled(tree)
    assert canonical(f"  ( ({text}) )\n") == (text,)
    assert canonical(text.replace(", ", " ,\t").replace(" * ", "*")) == (text,)
    assert ast.dump(ast.parse(text, mode="eval")) == ast.dump(ast.parse(f"({text})", mode="eval"))


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("(b4-b3)/(b4+b3)", ("(b4 - b3) / (b4 + b3)",)),
        ("B1;b2 , b3", ("b1", "b2", "b3")),
        ("max(b1,b2); b3,", ("max(b1, b2)", "b3")),
        ("+b1 - (b2 - b3)", ("b1 - (b2 - b3)",)),
        ("(b1 - b2) - b3", ("b1 - b2 - b3",)),
        ("-b1**2 + (-b1)**2", ("-b1 ** 2 + (-b1) ** 2",)),
        ("b1**b2**b3 * (b1**b2)**b3", ("b1 ** b2 ** b3 * (b1 ** b2) ** b3",)),
        ("2**-b1", ("2 ** -b1",)),
        ("0<b1<=5", ("0 < b1 and b1 <= 5",)),
        ("not (b1 or b2) and b3", ("not (b1 or b2) and b3",)),
        ("where(b1==0, nan, 1.50*b1 + 1e-5)", ("where(b1 == 0, nan, 1.5 * b1 + 1e-05)",)),
        ("b1*1e22 + 3.0 + 0x10", ("b1 * 1e+22 + 3 + 16",)),
        ("+".join(f"b{band}" for band in range(1, 65)), None),
    ],
)
def test_the_spelling(text: str, spelling: tuple[str, ...] | None) -> None:
    assert canonical(text) == (spelling or (text.replace("+", " + "),))


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("b1.real", 1, "'b1.real' is not allowed"),
        ("b1 + b2.__class__", 6, "'b2.__class__' is not allowed"),
        ("__import__('os')", 12, "is not allowed"),
        ("open(b1)", 1, "is no call of these functions"),
        ("b1(b2)", 1, "is no call of these functions"),
        ("clip(b1, a=1)", 1, "is no call of these functions"),
        ("sqrt(*b1)", 6, "is not allowed"),
        ("min(b1)", 1, "takes 2 to 16"),
        ("b1 & 3", 4, "'&' is not allowed"),
        ("b1 // 3", 1, "has an operator that is not allowed"),
        ("b1 is b2", 1, "has an operator that is not allowed"),
        ("b1 if b2 else b3", 1, "is not allowed"),
        ("red - b1", 1, "'red' is no band"),
        ("b0", 1, "is no band"),
        ("b1 + b04", 6, "'b04' is no band"),
        ("b8A", 1, "is no band"),
        ("True", 1, "is no number"),
        ("1j * b1", 1, "is no number"),
        ("b1 * 1e999", 6, "is too large a number"),
        ("b1 ** 65", 7, "is an exponent beyond 64"),
        ("b1 ** -65", 7, "is an exponent beyond 64"),
        ("b1 +", 5, "'the end' is not expected there"),
        ("(b1", 1, "is never closed"),
        ("b1)", 3, "is not expected there"),
        ("b1 * * b2", 6, "is not expected there"),
        ("where(b1; b2; b3)", 9, "is not expected there"),
        ("b1 # , b2", 4, "'#' is not allowed"),
        ("b\u0661", 2, "is not allowed"),
        ("b1\0", 3, "is not allowed"),
        ("", 1, "'the end' is not expected there"),
    ],
)
def test_a_bad_expression_is_refused_at_its_place(text: str, place: int, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    message = str(caught.value)
    assert message.startswith(f"--expression, character {place}: ")
    assert said in message
    assert message.endswith(ALLOWED)
    assert "\n" not in message


@pytest.mark.parametrize(
    "text",
    [
        "-" * 1000 + "b1",
        "b1" + "+b1" * 101,
        "b1 or " * 200 + "b1",
        "b1<" * 200 + "b1",
        "sqrt(" * 110 + "b1" + ")" * 110,
    ],
)
def test_it_is_no_deeper_than_can_be_computed(text: str) -> None:
    with pytest.raises(InputError, match="nested"):
        parse(text)


def test_parentheses_alone_nest_nothing() -> None:
    assert parse("(" * 90 + "b1" + ")" * 90) == (Band(1),)


def test_it_has_bounds() -> None:
    for text, said in [
        ("b1+" * MAX_CHARS, "more than 4000"),
        (",".join(["b1"] * 257), "257 expressions"),
        ("()", "0 expressions"),
        ("9" * 3999, "number"),
    ]:
        with pytest.raises(InputError, match=said):
            parse(text)


def test_chains_in_chains_do_not_grow_without_end() -> None:
    text = "b1"
    for _ in range(60):
        text = f"b1<({text})<b1"
    with pytest.raises(InputError, match="too long once its chains are written out"):
        parse(text)


def test_what_is_written_out_has_bounds_too() -> None:
    with pytest.raises(InputError, match="once it is written out, more than 4000"):
        canonical(",".join(["b1+b1+b1+b1+b1"] * 250))


def test_an_image_of_one_number_is_no_image() -> None:
    with pytest.raises(InputError, match="'1 \\+ 2' names no band"):
        canonical("b1, 1+2")


def test_every_operator_and_function_has_a_value() -> None:
    for name, (least, _most) in FUNCTIONS.items():
        call = Call(name, (Band(1), Number(0.0), Number(1.0))[:least])
        assert evaluate(call, {1: np.array([0.5])}).shape == (1,)
    for name in BINDING:
        arguments = (Band(1),) if name in ("neg", "not") else (Band(1), Band(1))
        assert evaluate(Call(name, arguments), {1: np.array([0.5])}).dtype == np.float64


def test_towers_of_powers_overflow_at_once() -> None:
    (tree,) = parse("b1 * 9**9**9**9")
    assert evaluate(tree, {1: np.array([1.0])})[0] == math.inf


def test_it_comes_back_from_a_plan() -> None:
    for computed in (
        Computed(bands=(4, 3, 2)),
        Computed(expressions=("(b4 - b3) / (b4 + b3)", "b1"), unscale=True),
    ):
        assert computed_from_json(computed.to_json()) == computed
    assert Computed(bands=(2,)).to_json() == {"bands": [2]}
    assert Computed(expressions=("max(b7, b3)", "b3 / b1")).read() == (1, 3, 7)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"bands": [1], "expressions": ["b1"]},
        {"bands": [0]},
        {"bands": [True]},
        {"expressions": ["b1+b2"]},
        {"expressions": ["b1, b2"]},
        {"expressions": [3]},
        {"bands": [1], "eval": "b1"},
        {"bands": [1], "unscale": 1},
        [],
    ],
)
def test_no_other_plan_is_taken(value: object) -> None:
    with pytest.raises(InputError):
        computed_from_json(value)
