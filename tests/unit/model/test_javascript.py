import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forklore.model.javascript import entry_hash, js_stringify, string_hash

SAMPLE = Path(__file__).parents[2] / "samples/sillytavern-1.19.0"

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

STRINGIFY_JS = "JSON.stringify(JSON.parse(text))"
CYRB53_JS = """(() => {
    let h1 = 0xdeadbeef, h2 = 0x41c6ce57;
    const value = JSON.parse(text);
    for (let i = 0; i < value.length; i++) {
        h1 = Math.imul(h1 ^ value.charCodeAt(i), 2654435761);
        h2 = Math.imul(h2 ^ value.charCodeAt(i), 1597334677);
    }
    h1 = Math.imul(h1 ^ (h1 >>> 16), 2246822507) ^ Math.imul(h2 ^ (h2 >>> 13), 3266489909);
    h2 = Math.imul(h2 ^ (h2 >>> 16), 2246822507) ^ Math.imul(h1 ^ (h1 >>> 13), 3266489909);
    return String(4294967296 * (2097151 & h2) + (h1 >>> 0));
})()"""

any_text = st.text(st.characters(exclude_categories=[]))
keys = any_text | st.integers(-2, 2**33).map(str) | st.sampled_from(["01", "4294967294", "4294967295", "1.5", "-0"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(allow_nan=False, allow_infinity=False, places=8, min_value=-1, max_value=1).map(float)
    | any_text
)
# As json.loads gives it: halves of a surrogate pair are joined.
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=12,
).map(lambda value: json.loads(json.dumps(value)))


def in_node(expression: str, texts: list[str]) -> list[str]:
    """Return the expression's value in JavaScript for each `text`."""
    program = (
        "const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        f"process.stdout.write(JSON.stringify(texts.map((text) => {expression})));"
    )
    done = subprocess.run(["node", "-e", program], input=json.dumps(texts).encode(), capture_output=True, check=True)
    results: list[str] = json.loads(done.stdout)
    return results


class TestStringify:
    @pytest.mark.parametrize(
        "value, written",
        [
            (None, "null"),
            (True, "true"),
            (False, "false"),
            (0, "0"),
            (-7, "-7"),
            (100.0, "100"),
            (-0.0, "0"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (123.456, "123.456"),
            (math.inf, "null"),
            (-math.inf, "null"),
            (math.nan, "null"),
            (2**53, "9007199254740992"),
            (2**53 + 1, "9007199254740992"),
            (1238582087083628501, "1238582087083628500"),
            (-(10**20) - 1, "-100000000000000000000"),
            (10**21, "1e+21"),
            (10**400, "null"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (123456789012345680000.0, "123456789012345680000"),
            (1e-6, "0.000001"),
            (1.5e-6, "0.0000015"),
            (1e-7, "1e-7"),
            (1.25e-10, "1.25e-10"),
            (5e-324, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
        ],
    )
    def test_numbers_are_written_as_javascript_does(self, value: Any, written: str) -> None:
        assert js_stringify(value) == written

    @pytest.mark.parametrize(
        "text, written",
        [
            ("", '""'),
            ('say "hi" \\ /', '"say \\"hi\\" \\\\ /"'),
            ("\b\f\n\r\t", '"\\b\\f\\n\\r\\t"'),
            ("\0\x0b\x1f", '"\\u0000\\u000b\\u001f"'),
            ("\x7f\x80é界\u2028\ufeff", '"\x7f\x80é界\u2028\ufeff"'),
            ("😀", '"😀"'),
            ("\ud83d", '"\\ud83d"'),
            ("\ude00\ud83d", '"\\ude00\\ud83d"'),
            ("\ud83d\ude00", '"😀"'),
        ],
    )
    def test_strings_are_escaped_as_javascript_does(self, text: str, written: str) -> None:
        assert js_stringify(text) == written

    def test_containers_are_compact(self) -> None:
        assert js_stringify({"a": [1, {"b": []}, {}], "c": "d"}) == '{"a":[1,{"b":[]},{}],"c":"d"}'

    def test_array_indices_come_first_in_ascending_order(self) -> None:
        keys_in_file = ["b", "10", "a", "9", "01", "-1", "4294967295", "4294967294", "0", "1.0", "٣"]

        written = js_stringify(dict.fromkeys(keys_in_file, 0))

        assert list(json.loads(written)) == [
            *["0", "9", "10", "4294967294"],
            *["b", "a", "01", "-1", "4294967295", "1.0", "٣"],
        ]

    def test_deep_values_are_written(self) -> None:
        deep: Any = 0
        for _ in range(5000):
            deep = {"a": [deep]}

        assert js_stringify(deep) == '{"a":[' * 5000 + "0" + "]}" * 5000

    def test_what_json_cannot_hold_is_refused(self) -> None:
        with pytest.raises(TypeError, match="set"):
            js_stringify({"a": {1, 2}})

    @given(json_values)
    def test_json_can_read_it_back(self, value: Any) -> None:
        again = json.loads(js_stringify(value))

        assert js_stringify(again) == js_stringify(value)

    @needs_node
    @settings(max_examples=20, deadline=None)
    @given(st.lists(json_values, min_size=20, max_size=60))
    def test_node_writes_the_same(self, values: list[Any]) -> None:
        assert [js_stringify(value) for value in values] == in_node(STRINGIFY_JS, [*map(json.dumps, values)])

    @needs_node
    def test_node_writes_the_same_at_the_edges(self) -> None:
        edges = [
            "1e400",
            "-0",
            "-0.0",
            "1E3",
            "123456789012345678901234567890",
            "4.35",
            "1e23",
            "9007199254740993",
        ]
        edges += [f"{digit}e{exponent}" for digit in ("1", "-9.5", "1.2345678901234567") for exponent in range(-30, 30)]
        edges += [
            '{"b":1,"4294967295":2,"4294967294":3,"7":4,"__proto__":5,"b":6}',
            '"\\ud83d\\u0000\\ud83d\\ude00"',
        ]

        assert [js_stringify(json.loads(text)) for text in edges] == in_node(STRINGIFY_JS, edges)


class TestStringHash:
    @pytest.mark.parametrize(
        "text, expected",
        [("a", 7929297801672961), ("b", 8684336938537663), ("revenge", 4051478007546757)],
    )
    def test_is_the_published_hash(self, text: str, expected: int) -> None:
        assert string_hash(text) == expected

    def test_a_seed_changes_it(self) -> None:
        assert string_hash("revenge", 1) == 159804134958634

    @given(any_text, st.integers())
    def test_has_at_most_53_bits(self, text: str, seed: int) -> None:
        assert 0 <= string_hash(text, seed) < 2**53

    @needs_node
    @settings(max_examples=10, deadline=None)
    @given(st.lists(any_text.map(lambda text: json.loads(json.dumps(text))), min_size=20, max_size=60))
    def test_node_computes_the_same(self, texts: list[str]) -> None:
        assert [str(string_hash(text)) for text in texts] == in_node(CYRB53_JS, [*map(json.dumps, texts)])


def hash_of(**written: Any) -> int:
    return string_hash(js_stringify(written))


class TestEntryHash:
    def test_is_the_hash_that_real_sillytavern_stored(self) -> None:
        book = json.loads((SAMPLE / "lorebook_api_created_default_fields.json").read_bytes())
        header = json.loads((SAMPLE / "chat_main.jsonl").read_bytes().split(b"\n")[0])
        stored = header["chat_metadata"]["timedWorldInfo"]["cooldown"]["Mira Lore.1"]["hash"]

        assert entry_hash(book["entries"]["1"], "Mira Lore") == stored == 6568490484769124

    def test_uid_and_world_come_first_and_decorators_last(self) -> None:
        assert entry_hash({"content": "c", "uid": 3, "order": 1}, "W") == hash_of(
            uid=3, world="W", content="c", order=1, decorators=[]
        )

    def test_keys_of_the_entry_itself_win_in_place(self) -> None:
        entry = {"decorators": ["old"], "uid": 3, "world": "its own", "content": "c"}

        assert entry_hash(entry, "W") == hash_of(uid=3, world="its own", decorators=[], content="c")

    @pytest.mark.parametrize("entry", [{"uid": 3}, {"uid": 3, "key": []}])
    def test_missing_content_is_added_at_the_end(self, entry: dict[str, Any]) -> None:
        rest = {key: value for key, value in entry.items() if key != "uid"}

        assert entry_hash(entry, "W") == hash_of(uid=3, world="W", **rest, decorators=[], content="")

    def test_null_content_is_empty_in_its_place(self) -> None:
        assert entry_hash({"uid": 3, "content": None, "key": []}, "W") == hash_of(
            uid=3, world="W", content="", key=[], decorators=[]
        )

    def test_an_entry_without_uid_is_hashed_without_it(self) -> None:
        assert entry_hash({"content": "c"}, "W") == hash_of(world="W", content="c", decorators=[])

    @pytest.mark.parametrize(
        "content, decorators, rest",
        [
            ("plain\n@@activate", [], "plain\n@@activate"),
            ("@activate\ntext", [], "@activate\ntext"),
            (" @@activate\ntext", [], " @@activate\ntext"),
            ("@@activate\ntext", ["@@activate"], "text"),
            ("@@activate_now 3\ntext", ["@@activate_now 3"], "text"),
            ("@@activate\n@@dont_activate\na\n@@b\nc", ["@@activate", "@@dont_activate"], "a\n@@b\nc"),
            ("@@activate\n\ntext", ["@@activate"], "\ntext"),
            ("@@activate\n", ["@@activate"], ""),
            ("@@activate", ["@@activate"], "@@activate"),
            ("@@unknown", [], "@@unknown"),
            ("@@unknown\ntext", [], "text"),
            ("@@@activate\ntext", [], "text"),
            ("@@unknown\n@@@activate\ntext", ["@@activate"], "text"),
            ("@@unknown\n@@@other\n@@@dont_activate\ntext", ["@@dont_activate"], "text"),
            ("@@unknown\n@@activate\n@@@dont_activate\ntext", ["@@activate"], "text"),
            ("@@unknown\n@@@activate\n@@@dont_activate\ntext", ["@@activate"], "text"),
            ("@@unknown\n@@@@activate\ntext", [], "text"),
            ("@@activate\r\ntext", ["@@activate\r"], "text"),
        ],
    )
    def test_decorators_are_taken_off_the_content(self, content: str, decorators: list[str], rest: str) -> None:
        assert entry_hash({"uid": 3, "content": content, "key": []}, "W") == hash_of(
            uid=3, world="W", content=rest, key=[], decorators=decorators
        )

    @given(
        st.dictionaries(keys | st.sampled_from(["uid", "world", "content", "decorators"]), json_values),
        any_text,
    )
    def test_any_entry_has_a_hash(self, entry: dict[str, Any], world: str) -> None:
        assert 0 <= entry_hash(entry, world) < 2**53

    @given(st.lists(st.sampled_from(["@@activate", "@@@activate", "@@x", "@@@x", "text", ""])).map("\n".join))
    def test_the_name_of_the_lorebook_is_part_of_the_hash(self, content: str) -> None:
        entry = {"uid": 3, "content": content}

        assert entry_hash(entry, "Lore") != entry_hash(entry, "Lore__CP_Test")
        assert entry == {"uid": 3, "content": content}
