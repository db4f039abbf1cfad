"""Sentences with gaps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.texts.template import BadTemplate, Grammar, fill, gaps, parse

ENGLISH = Grammar(
    lambda count: "one" if count == 1 else "other",
    ", ",
    "; ",
    lambda fact: f"<{fact['code']}>",
    lambda family, value: f"<{family}.{value}>",
)


def filled(text: str, **params: object) -> str:
    """Return a template with its gaps filled."""
    return fill(parse(text), params, ENGLISH)


@pytest.mark.parametrize(
    "text, params, sentence",
    [
        ("There is no message {at}.", {"at": 7}, "There is no message 7."),
        ("{count, plural, one {# entry} other {# entries}}", {"count": 1}, "1 entry"),
        ("{count, plural, one {# entry} other {# entries}}", {"count": 0}, "0 entries"),
        ("{more, plural, =0 {} other { and # more}}.", {"more": 0}, "."),
        ("{more, plural, =0 {} other { and # more}}.", {"more": 3}, " and 3 more."),
        ("{state, select, edited {was edited} other {is new}}", {"state": "edited"}, "was edited"),
        ("{state, select, edited {was edited} other {is new}}", {"state": "fresh"}, "is new"),
        ("{to, select, none {nowhere} other {to {to}}}", {"to": None}, "nowhere"),
        ("{to, select, none {nowhere} other {to {to}}}", {"to": []}, "nowhere"),
        ("{to, select, none {nowhere} other {to {to}}}", {"to": "Rome"}, "to Rome"),
        ("{yes, select, true {yes} other {no}}", {"yes": True}, "yes"),
        ("the {kind, named, act}", {"kind": "undo"}, "the <act.undo>"),
        ("the {kind, named, act}", {"kind": None}, "the <act.none>"),
        ("{names, list}", {"names": ["a", "b", 3]}, "a, b, 3"),
        ("{names, lines}", {"names": ["a", "b"]}, "a\nb"),
        (
            "{links, each, {at}: “{chat}”}",
            {"links": [{"at": 1, "chat": "x"}, {"at": 2, "chat": "y"}]},
            "1: “x”; 2: “y”",
        ),
        ("{names, each, “{it}”}", {"names": ["a", "b"]}, "“a”; “b”"),
        ("{reason} here", {"reason": {"code": "gone", "params": {}}}, "<gone> here"),
        (r"Use \{parent\} in {what}", {"what": "names"}, "Use {parent} in names"),
        ("# stays # outside of a plural", {}, "# stays # outside of a plural"),
    ],
)
def test_a_template_is_filled(text: str, params: dict[str, object], sentence: str) -> None:
    assert filled(text, **params) == sentence


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "}",
        "{}",
        "{a",
        "{a, b}",
        "{a, plural, one {x}}",
        "{a, select, other {x}",
        "{a, list",
        "{a, named, b",
        "a } b",
        "{1}",
    ],
)
def test_a_template_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadTemplate):
        parse(text)


@given(st.text())
def test_a_name_is_one_line_of_the_sentence_whatever_it_holds(name: str) -> None:
    sentence = filled("“{name}” is gone.", name=name)

    assert sentence.splitlines() == [sentence]
    assert sentence.startswith("“")
    assert sentence.endswith("” is gone.")


@given(st.text(), st.integers())
def test_a_value_is_never_read_as_a_template(name: str, at: int) -> None:
    assert filled("{name}{at}", name="{at}" + name, at=at).startswith("{at}")


def test_the_gaps_of_a_template_are_known() -> None:
    text = "{a} {b, plural, one {{c}} other {{d, list}}} {e, each, {inner}}"

    assert gaps(parse(text)) == {"a", "b", "c", "d", "e"}
