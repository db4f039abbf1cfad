import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.formats.json_text import NotJson, encode, faster_reader, parse, parse_object, to_bytes, to_text

_plain = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.just("\ud83d")
)
_values = st.recursive(_plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30)


class TestParse:
    @pytest.mark.parametrize("text", ['{"a":1}', '  {"a":1}\r', '\ufeff{"a":1}\n', '\ufeff \t{"a":1} '])
    def test_blanks_and_a_byte_order_mark_do_not_matter(self, text: str) -> None:
        assert parse(text.encode()) == {"a": 1}

    @pytest.mark.parametrize(
        "text", ["", " ", "{", '{"a":1}x', '{"a":1}{}', "{'a':1}", '{"a":1,}', "undefined", '{"a":"\n"}', '"\\x"']
    )
    def test_anything_else_is_not_json(self, text: str) -> None:
        with pytest.raises(NotJson):
            parse(text)

    @pytest.mark.parametrize("text", ["NaN", "Infinity", '{"a":-Infinity}'])
    def test_what_only_python_reads_is_not_json(self, text: str) -> None:
        with pytest.raises(NotJson):
            parse(text)

    def test_nesting_beyond_reason_is_not_json(self) -> None:
        with pytest.raises(NotJson):
            parse("[" * 100_000 + "]" * 100_000)

    def test_big_integers_keep_every_digit(self) -> None:
        assert parse("123456789012345678901234567890") == 123456789012345678901234567890

    def test_half_an_emoji_is_read(self) -> None:
        assert parse('"\\ud83d"') == "\ud83d"

    @pytest.mark.parametrize(
        "data",
        [
            b'{"a":1,"b":[true,null,1.5,-0,-0.0,1e3],"a":"\xc3\xa9\\u00e9\\ud83d\\ude00"}',
            b"123456789012345678901234567890",
            b"1e400",
            b'"\\ud83d"',
            b'{"\xff":"\xed\xa0\x80"}',
            b'\xef\xbb\xbf {"a":1} ',
        ],
    )
    def test_the_faster_reader_changes_nothing(self, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        assert faster_reader(is_worth_it=True) is not None
        with_it = parse(data)
        monkeypatch.setitem(sys.modules, "msgspec", None)

        assert faster_reader(is_worth_it=True) is None
        assert repr(parse(data)) == repr(with_it)  # where 1, 1.0 and True differ

    @pytest.mark.parametrize("text", ["[]", "1", '"a"', "null"])
    def test_only_an_object_is_an_object(self, text: str) -> None:
        with pytest.raises(NotJson, match="not an object"):
            parse_object(text)

    def test_bytes_that_are_not_utf_8_come_back(self) -> None:
        data = b'{"a":"\xff\xfe caf\xe9"}'

        assert to_bytes(to_text(data)) == data


class TestEncode:
    def test_writes_as_sillytavern_writes(self) -> None:
        assert encode({"a": [1, "é界"], "b": None}) == '{"a":[1,"é界"],"b":null}'

    def test_half_an_emoji_is_an_escape(self) -> None:
        assert encode("\ud83d!") == '"\\ud83d!"'
        assert encode("😀") == '"😀"'
        assert encode(["é", "\udc9f", "a"]) == '["é","\\udc9f","a"]'

    def test_a_number_too_large_for_javascript_is_null_there(self) -> None:
        assert encode({"a": [parse("1e400"), 1.5]}) == '{"a":[null,1.5]}'

    @given(_values, st.sampled_from([2, 4]))
    def test_it_is_laid_out_alike_with_and_without_the_faster_writer(self, value: Any, indent: int) -> None:
        assert faster_reader(is_worth_it=True) is not None
        plain = json.dumps(value, ensure_ascii=False, indent=indent).replace("\ud83d", "\\ud83d")

        assert encode(value, indent=indent) == plain

    def test_without_the_faster_writer_it_is_laid_out_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "msgspec", None)

        assert encode({"a": [], "b": [1]}, indent=2) == '{\n  "a": [],\n  "b": [\n    1\n  ]\n}'
