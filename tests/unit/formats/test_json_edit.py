import json

import pytest

from forklore.formats.json_edit import apply_edits, item_texts, value_text
from forklore.formats.json_text import NotJson
from forklore.model.plan import Append, Drop, Edit, Put, Take


def edited(text: str, *edits: Edit) -> str:
    return apply_edits(text, edits).text


def undone(text: str, *edits: Edit) -> str:
    made = apply_edits(text, edits)
    return apply_edits(made.text, made.inverse).text


class TestFinding:
    TEXT = '{ "a" : [1E5, {"b":-0}] , "a":[ "x",  2.50 ], "c":{"d":"\\ud83d"} }'

    def test_a_value_comes_as_it_is_written(self) -> None:
        assert value_text(self.TEXT, ("a", 1)) == "2.50"
        assert value_text(self.TEXT, ("c", "d")) == '"\\ud83d"'

    def test_of_equal_keys_the_last_one_counts(self) -> None:
        assert value_text(self.TEXT, ("a",)) == '[ "x",  2.50 ]'

    @pytest.mark.parametrize("path", [("x",), ("a", 5), ("a", "b"), ("c", 0), ("c", "d", "e")])
    def test_what_is_not_there_is_none(self, path: tuple[str | int, ...]) -> None:
        assert value_text(self.TEXT, path) is None

    def test_items_come_as_they_are_written(self) -> None:
        assert item_texts(self.TEXT, ("a",)) == ['"x"', "2.50"]

    @pytest.mark.parametrize("path", [("x",), ("c",)])
    def test_what_is_no_array_has_no_items(self, path: tuple[str, ...]) -> None:
        assert item_texts(self.TEXT, path) == []

    @pytest.mark.parametrize("text", ['{"a" 1}', '{"a":1 "b":2}', "{a:1}", '{"a":', "{"])
    def test_broken_text_is_not_json(self, text: str) -> None:
        with pytest.raises(NotJson):
            value_text(text, ("a",))
        with pytest.raises(NotJson):
            item_texts(text, ("a",))
        with pytest.raises(NotJson):
            apply_edits(text, [Put(("a",), "1")])


class TestPut:
    @pytest.mark.parametrize(
        "text, edit, expected",
        [
            ('{"a":1}', Put(("a",), "2"), '{"a":2}'),
            ('{"a":1}', Put(("b",), "2"), '{"a":1,"b":2}'),
            ("{}", Put(("b",), "2"), '{"b":2}'),
            ("{ }", Put(("b",), "2"), '{"b":2 }'),
            ('{"a":{}}', Put(("a", "b", "c"), "2"), '{"a":{"b":{"c":2}}}'),
            ('{"a":null}', Put(("a", "b"), "2"), '{"a":{"b":2}}'),
            ('{"a":1,"a":2}', Put(("a",), "3"), '{"a":1,"a":3}'),
            ('{"a":[1,2]}', Put(("a", 1), "3"), '{"a":[1,3]}'),
            ('\ufeff{"a":1}', Put(("a",), "2"), '\ufeff{"a":2}'),
            ('{"a":1}\r', Put(("b",), "2"), '{"a":1,"b":2}\r'),
            ('{"\\u0061":1}', Put(("a",), "2"), '{"\\u0061":2}'),
        ],
    )
    def test_changes_nothing_but_the_value(self, text: str, edit: Put, expected: str) -> None:
        assert edited(text, edit) == expected

    def test_a_new_member_is_laid_out_like_its_elders(self) -> None:
        text = '{\n    "a": 1,\n    "b": 2\n}'

        assert edited(text, Put(("c",), "3")) == '{\n    "a": 1,\n    "b": 2,\n    "c": 3\n}'

    def test_is_made_only_while_the_old_value_is_the_expected_one(self) -> None:
        assert edited('{"a": 1.0}', Put(("a",), "2", only_if="1")) == '{"a": 2}'
        assert edited('{"a": 3}', Put(("a",), "2", only_if="1")) == '{"a": 3}'
        assert edited("{}", Put(("a",), "2", only_if="1")) == "{}"

    def test_true_is_not_one(self) -> None:
        assert edited('{"a":true}', Put(("a",), "2", only_if="1")) == '{"a":true}'
        assert edited('{"a":[false]}', Put(("a",), "2", only_if="[0]")) == '{"a":[false]}'

    def test_a_value_that_is_there_already_needs_no_inverse(self) -> None:
        assert apply_edits('{"a":1}', [Put(("a",), "1")]) == ('{"a":1}', ())

    @pytest.mark.parametrize("path", [(), ("a",)])
    def test_a_text_that_is_no_object_takes_no_member(self, path: tuple[str, ...]) -> None:
        with pytest.raises(NotJson):
            apply_edits("[1]", [Put(path, "1")])

    @pytest.mark.parametrize("path", [("a", 2), ("a", 5, "b"), ("x", 0)])
    def test_an_array_is_not_made_longer(self, path: tuple[str | int, ...]) -> None:
        with pytest.raises(NotJson):
            apply_edits('{"a":[1,2]}', [Put(path, "1")])


class TestDrop:
    @pytest.mark.parametrize(
        "text, edit, expected",
        [
            ('{"a":1,"b":2,"c":3}', Drop(("b",)), '{"a":1,"c":3}'),
            ('{"a":1,"b":2,"c":3}', Drop(("a",)), '{"b":2,"c":3}'),
            ('{ "a":1 , "b":2 }', Drop(("b",)), '{ "a":1 }'),
            ('{"a":1}', Drop(("a",)), "{}"),
            ('{"a":1,"b":2,"a":3}', Drop(("a",)), '{"b":2}'),
            ('{"a":{"b":{"c":1}}}', Drop(("a", "b", "c"), prune=1), '{"a":{}}'),
            ('{"a":{"b":{"c":1}}}', Drop(("a", "b", "c"), prune=2), "{}"),
            ('{"a":{"b":{"c":1},"d":2}}', Drop(("a", "b", "c"), prune=2), '{"a":{"d":2}}'),
            ('{"a":1}', Drop(("b",)), '{"a":1}'),
            ('{"a":1}', Drop(("a",), only_if="2"), '{"a":1}'),
            ('{"a":[1,2]}', Drop(("a", 0)), '{"a":[1,2]}'),
            ('{"a":[{"b":1},2]}', Drop(("a", 0, "b"), prune=1), '{"a":[{},2]}'),
        ],
    )
    def test_takes_out_one_member_and_one_comma(self, text: str, edit: Drop, expected: str) -> None:
        assert edited(text, edit) == expected

    @pytest.mark.parametrize("key", ["a", "b", "c"])
    @pytest.mark.parametrize(
        "text", ['{"a":1,"b":2,"c":3}', '{ "a": 1, "b": 2,\n"c" : 3 }', '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}']
    )
    def test_comes_back_to_its_place(self, text: str, key: str) -> None:
        assert undone(text, Drop((key,))) == text

    @pytest.mark.parametrize("text", ['{ "a": 1 }', '{\n  "a": 1\n}', '{"x":[],"a":{"b":{"c":1}},"y":2}'])
    def test_comes_back_alone_or_with_its_parents(self, text: str) -> None:
        path = ("a", "b", "c") if "c" in text else ("a",)

        assert undone(text, Drop(path, prune=len(path) - 1)) == text

    def test_comes_back_between_siblings_that_came_and_went(self) -> None:
        dropped = apply_edits('{"a":1,"b":2,"c":3}', [Drop(("b",))])

        assert apply_edits('{"c":3,"new":4}', dropped.inverse).text == '{"b":2,"c":3,"new":4}'
        assert apply_edits('{"new":4}', dropped.inverse).text == '{"new":4,"b":2}'

    def test_two_come_back_to_their_places_in_any_order(self) -> None:
        first = apply_edits('{"l":[ "a", "b" ]}', [Take(("l",), '"a"')])
        second = apply_edits(first.text, [Take(("l",), '"b"')])

        one_back = apply_edits(second.text, first.inverse)
        assert apply_edits(one_back.text, second.inverse).text == '{"l":[ "a", "b" ]}'


class TestAppendAndTake:
    @pytest.mark.parametrize(
        "text, edit, expected",
        [
            ('{"a":["x"]}', Append(("a",), '"y"'), '{"a":["x","y"]}'),
            ('{"a":[]}', Append(("a",), '"y"'), '{"a":["y"]}'),
            ('{"a":["y"]}', Append(("a",), '"y"'), '{"a":["y"]}'),
            ("{}", Append(("a", "b"), '"y"'), '{"a":{"b":["y"]}}'),
            ('{"a":null}', Append(("a",), '"y"'), '{"a":["y"]}'),
            ('{\n  "a": [\n    "x"\n  ]\n}', Append(("a",), '"y"'), '{\n  "a": [\n    "x",\n    "y"\n  ]\n}'),
            ('{"a":["x","y","x"]}', Take(("a",), '"x"'), '{"a":["y"]}'),
            ('{"a":["x"]}', Take(("a",), '"x"'), '{"a":[]}'),
            ('{"a":["x"]}', Take(("a",), '"x"', prune=1), "{}"),
            ('{"a":{"b":["x"]},"c":1}', Take(("a", "b"), '"x"', prune=2), '{"c":1}'),
            ('{"a":["x"]}', Take(("a",), '"y"', prune=1), '{"a":["x"]}'),
            ('{"a":1}', Take(("a",), '"y"'), '{"a":1}'),
        ],
    )
    def test_one_item_comes_or_goes(self, text: str, edit: Edit, expected: str) -> None:
        assert edited(text, edit) == expected


class TestInverse:
    @pytest.mark.parametrize(
        "text, edits",
        [
            ('{"a":1.0}', [Put(("a",), "2")]),
            ('{ "a" : 1 }', [Put(("b", "c"), "2"), Put(("b", "d"), "3")]),
            ('{"extra":null}', [Put(("extra", "bookmark_link"), '"x"')]),
            ('{"extra":{ }}', [Put(("extra", "bookmark_link"), '"x"'), Append(("extra", "branches"), '"y"')]),
            ('{"a":1,"a":{"b":2}}', [Put(("a", "c"), "3")]),
            ('{"a":[ 1 , 2 ]}', [Append(("a",), "3"), Append(("a",), "4")]),
            ('{"a":"text"}', [Append(("a", "b"), "3")]),
            ('{"a":["x", "y","x" ]}', [Take(("a",), '"x"')]),
            ('{"a":["x", "gone","x"]}', [Take(("a",), '"gone"')]),
            ('{"a":[\n  "x"\n]}', [Take(("a",), '"x"')]),
            ('{"c":1,"a":{"b":["x"]},"d":2}', [Take(("a", "b"), '"x"', prune=2)]),
        ],
    )
    def test_restores_every_byte(self, text: str, edits: list[Edit]) -> None:
        assert undone(text, *edits) == text

    def test_finds_its_place_after_another_program_wrote_the_text_anew(self) -> None:
        made = apply_edits('{ "a":1, "extra":{} }', [Put(("extra", "bookmark_link"), '"x"')])
        anew = json.dumps({**json.loads(made.text), "b": 2}, separators=(",", ":"))

        assert apply_edits(anew, made.inverse).text == '{"a":1,"extra":{},"b":2}'

    def test_leaves_alone_what_somebody_changed_meanwhile(self) -> None:
        made = apply_edits('{"a":1}', [Put(("b",), '"ours"')])

        assert apply_edits('{"a":1,"b":"theirs"}', made.inverse).text == '{"a":1,"b":"theirs"}'
