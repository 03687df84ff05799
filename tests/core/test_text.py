import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.core.text import MAX_DEPTH, MAX_LENGTH, Call, TextError, join_torn, parse_call, value_text


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("roc_auc", "roc_auc", {}),
        ("  f1 ( ) ", "f1", {}),
        ("precision(threshold=0.3)", "precision", {"threshold": 0.3}),
        ("fbeta(beta=2,threshold=.5)", "fbeta", {"beta": 2, "threshold": 0.5}),
        ("log_loss(clip=1e-15)", "log_loss", {"clip": 1e-15}),
        ("x(a=-1E+3, b=+7, c=2.)", "x", {"a": -1000.0, "b": 7, "c": 2.0}),
        ("ece(norm=max, debias=true)", "ece", {"norm": "max", "debias": True}),
        ('x(a=\'two words\', b="it\'s", c="true")', "x", {"a": "two words", "b": "it's", "c": "true"}),
        ("hosmer_lemeshow(df=groups-2)", "hosmer_lemeshow", {"df": "groups-2"}),
    ],
)
def test_takes_a_call_apart(text: str, name: str, parameters: dict[str, object]) -> None:
    call = parse_call(text)
    assert call.name == name
    assert dict(call.parameters) == parameters
    assert {key: type(value) for key, value in call.parameters.items()} == {
        key: type(value) for key, value in parameters.items()
    }


def test_takes_nested_calls_apart() -> None:
    call = parse_call("precision(threshold=min(expected_cost(cost_fp=1, cost_fn=5)))")
    inner = Call("expected_cost", {"cost_fp": 1, "cost_fn": 5})
    assert call.parameters == {"threshold": Call("min", {}, (inner,))}
    assert parse_call("precision(threshold=max(f1))").parameters == {"threshold": Call("max", {}, ("f1",))}
    assert str(call) == "precision(threshold=min(expected_cost(cost_fp=1, cost_fn=5)))"


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("", "ends where a metric's name was expected", "precision(threshold=0.3)"),
        ("0.3", "'0.3' at position 1", "precision(threshold=0.3)"),
        ("f1@3", "'@' at position 3", "a whole number stands behind @: f1@10"),
        ("precision(0.3)", "the value 0.3 in 'precision(0.3)' has no name", "write name=value"),
        ("precision(max)", "the value max", "precision(name=max)"),
        ("fbeta(beta=2", "a parenthesis in 'fbeta(beta=2' is not closed", None),
        ("threshold=0.3)", "'=' at position 10", None),
        ("f1(a=1,)", "')' at position 8", "precision(threshold=0.3)"),
        ("f1(a=1 b=2)", "'b' at position 8 of 'f1(a=1 b=2)': ',' or ')' was expected", None),
        ("f1(1=2)", "'=' at position 5", "a parameter's name is a word"),
        ("f1(a=1, a=2)", "parameter 'a' is given twice", None),
        ("f1 f2", "'f2' at position 4", "several metrics are a list"),
        ("f1(a=1e999)", "too large", None),
        ("f1(a=1abc)", "character '1' at position 6", None),
        ("f1(a=__import__('os').system('x'))", "'.' at position", None),
        ("x" * (MAX_LENGTH + 1), f"may have {MAX_LENGTH} characters", None),
        ("f(a=" + "g(" * (MAX_DEPTH + 1) + ")" * (MAX_DEPTH + 2), "nested too deeply", None),
    ],
)
def test_says_what_is_wrong(text: str, words: str, hint: str | None) -> None:
    with pytest.raises(TextError) as caught:
        parse_call(text)
    assert words in str(caught.value)
    assert (hint or "") in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("pieces", "joined"),
    [
        (["fbeta(beta=2", "threshold=0.3)"], ("fbeta(beta=2, threshold=0.3)", 2)),
        (["a(x=max(b(c=1", "d=2))", "e=3)", "f"], ("a(x=max(b(c=1, d=2)), e=3)", 3)),
        (["precision_at_k(k=5)", "f1"], None),
        (["fbeta(beta=2", "f1"], None),
        (["f1)", "f2("], None),
        (["fbeta(beta=2", {"f1": None}], None),
    ],
)
def test_joins_what_yaml_tore_apart(pieces: list[object], joined: tuple[str, int] | None) -> None:
    assert join_torn(pieces) == joined


_words = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(
    lambda word: word not in {"true", "false"}
)
_leaves = st.one_of(
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False, allow_infinity=False),
    _words,
    st.text(st.characters(exclude_characters='"', exclude_categories=["Cs", "Cc"]), max_size=8).filter(
        lambda text: text.strip() == text
    ),
)
_values = st.recursive(
    _leaves,
    lambda inner: st.builds(Call, _words, st.dictionaries(_words, inner, min_size=1, max_size=2)),
    max_leaves=4,
)


@pytest.mark.slow
@given(st.builds(Call, _words, st.dictionaries(_words, _values, max_size=3)))
def test_canonical_text_reads_back(call: Call) -> None:
    again = parse_call(str(call))
    assert again == call
    assert hash(again) == hash(call)
    assert str(again) == str(call)


@given(st.text(max_size=40))
def test_any_text_is_a_call_or_a_text_error(text: str) -> None:
    try:
        call = parse_call(text)
    except TextError as error:
        assert str(error)  # noqa: PT017
    else:
        assert parse_call(str(call)) == call


def test_a_call_without_parameters_keeps_its_parentheses_as_a_value() -> None:
    assert value_text(Call("observed")) == "observed()"
