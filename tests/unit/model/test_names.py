import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.model.names import (
    MAX_NAME_BYTES,
    NameTemplates,
    clone_label,
    clone_name,
    cut_to_bytes,
    default_fork_name,
    fits,
    fork_label,
    kind_from_name,
    message_from_old_branch_name,
    parent_from_name,
    sanitise,
)

SAMPLES = Path(__file__).parents[2] / "samples"
DEFAULT = NameTemplates()

kinds = st.sampled_from(["checkpoint", "branch"])
# Every code point, lone surrogates included, and often enough the ones that matter.
any_text = st.text(
    st.characters(exclude_categories=[]) | st.sampled_from('./ \\:*?"<>|#_-{}\0\x9f\u3000\u0301\ud800界😀')
)
names_like_these = st.sampled_from(
    [
        "X",
        "CON",
        "con.x",
        "X - Branch #1",
        "Branch #2 - X",
        "X__CP_Y",
        "__BR_",
        "trail. ",
        "界" * 100,
        "😀" * 80,
    ]
)
parents = any_text | names_like_these


def nothing_is_taken(_name: str) -> bool:
    return False


class TestSanitise:
    @pytest.mark.parametrize(
        "name, expected",
        [
            ('a/b:c?"x"', "abcx"),
            ("with\nnewline", "withnewline"),
            ("a\x7fb\x80c\x9fd", "a\x7fbcd"),
            ("../../etc/passwd", "....etcpasswd"),
            ("  Mira  ", "Mira"),
            ("trail. . ", "trail"),
            ("\u3000wide\u3000", "wide"),
            (".hidden", ".hidden"),
            ("The key 🗝 界", "The key 🗝 界"),
            ("half\ud83dpair", "halfpair"),
            ("Mira - 2026-11-15@18h36m02s446ms", "Mira - 2026-11-15@18h36m02s446ms"),
        ],
    )
    def test_keeps_only_what_every_disk_takes(self, name: str, expected: str) -> None:
        assert sanitise(name) == expected

    @pytest.mark.parametrize("name", ["", " ", ".", "..", "...", " . ", "\0", "/", ":?*"])
    def test_nothing_usable_is_an_empty_name(self, name: str) -> None:
        assert sanitise(name) == ""

    @pytest.mark.parametrize("name", ["CON", "prn", "Aux", "nul", "COM0", "com9", "LPT1", "con.txt", " nul. ", "c:on"])
    def test_names_reserved_by_windows_are_refused(self, name: str) -> None:
        assert sanitise(name) == ""

    @pytest.mark.parametrize("name", ["CONrad", "COM10", "console.log", "xcon", "COM", "con_"])
    def test_names_that_only_look_reserved_are_kept(self, name: str) -> None:
        assert sanitise(name) == name

    @given(any_text)
    def test_sanitising_twice_changes_nothing_more(self, name: str) -> None:
        once = sanitise(name)

        assert sanitise(once) == once
        assert once == once.strip()
        assert not once.endswith(".")
        once.encode()


class TestLength:
    def test_the_limit_counts_bytes_not_characters(self) -> None:
        assert fits("x" * 235)
        assert not fits("x" * 236)
        assert fits("é" * 117)
        assert not fits("é" * 118)

    @pytest.mark.parametrize(
        "text, limit, expected",
        [
            ("abc", 2, "ab"),
            ("abc", 3, "abc"),
            ("abc", 0, ""),
            ("abc", -1, ""),
            ("aé", 2, "a"),
            ("😀😀", 7, "😀"),
            ("ab cd", 3, "ab"),
            ("ab. .cd", 5, "ab"),
            ("ab ", 10, "ab"),
            ("xe\u0301", 2, "x"),
            ("xe\u0301\u0323", 4, "x"),
            ("\u0301\u0301", 2, "\u0301"),
        ],
    )
    def test_cuts_between_characters(self, text: str, limit: int, expected: str) -> None:
        assert cut_to_bytes(text, limit) == expected

    @given(any_text, st.integers(-1, 60))
    def test_a_cut_text_is_a_beginning_within_the_limit(self, text: str, limit: int) -> None:
        cut = cut_to_bytes(text, limit)

        assert text.startswith(cut)
        assert len(cut.encode("utf-8", "surrogatepass")) <= max(limit, 0)
        assert cut == cut.rstrip()
        assert not cut.endswith(".")


class TestDefaultForkName:
    @pytest.mark.req(82)
    @pytest.mark.parametrize(
        "parent, kind, expected",
        [
            ("X", "checkpoint", "X - Checkpoint #1"),
            ("X", "branch", "X - Branch #1"),
            ("X - Branch #1", "checkpoint", "X - Branch #1 - Checkpoint #1"),
            ("X - Checkpoint #4", "branch", "X - Checkpoint #4 - Branch #1"),
            ("X - Checkpoint #4", "checkpoint", "X - Checkpoint #1"),
            ("X - Branch #1 - Branch #2", "branch", "X - Branch #1 - Branch #1"),
            ("Checkpoint #3 - X", "checkpoint", "X - Checkpoint #1"),
            ("Checkpoint #3 - X", "branch", "Checkpoint #3 - X - Branch #1"),
            ("Branch #42 - 2025-11-02@21h05m23s", "branch", "2025-11-02@21h05m23s - Branch #1"),
            (" - Branch #7", "branch", "Branch #1"),
            ("Branch #7", "branch", "Branch #1"),
            ("Branch #7", "checkpoint", "Branch #7 - Checkpoint #1"),
            ("Anka Brandt -", "branch", "Anka Brandt - Branch #1"),
            ("Anka Brandt - ", "branch", "Anka Brandt - Branch #1"),
            ("Anka Brandt - - ", "branch", "Anka Brandt - Branch #1"),
            (" - 2025-11-02@21h04m23s", "branch", "2025-11-02@21h04m23s - Branch #1"),
            ("- Anka", "checkpoint", "Anka - Checkpoint #1"),
            ("-", "branch", "Branch #1"),
            (" - ", "checkpoint", "Checkpoint #1"),
            ("", "branch", "Branch #1"),
            (" ", "branch", "Branch #1"),
            ("Anka-", "branch", "Anka- - Branch #1"),
            ("-5 degrees", "branch", "-5 degrees - Branch #1"),
            ("a{n}b{parent}", "branch", "a{n}b{parent} - Branch #1"),
            ("trail. ", "branch", "trail.  - Branch #1"),
            ("con.x", "branch", "_con.x - Branch #1"),
            ("a/b", "branch", "ab - Branch #1"),
        ],
    )
    def test_follows_sillytavern(self, parent: str, kind: str, expected: str) -> None:
        assert default_fork_name(parent, kind, nothing_is_taken, DEFAULT) == (expected, 1)

    @pytest.mark.req(82)
    def test_gives_the_names_that_real_sillytavern_gave(self) -> None:
        names = json.loads((SAMPLES / "sillytavern-1.19.0/names.json").read_bytes())
        there = set(names.values())

        def fork(parent: str, kind: str, made: str) -> str:
            return default_fork_name(names[parent], kind, (there - {names[made]}).__contains__, DEFAULT)[0]

        assert fork("main", "checkpoint", "checkpoint") == names["checkpoint"]
        assert fork("main", "branch", "branch") == names["branch"]
        assert fork("branch", "checkpoint", "checkpoint_in_branch") == names["checkpoint_in_branch"]
        assert fork("branch", "branch", "branch_of_branch") == names["branch_of_branch"]
        assert fork("group_main", "checkpoint", "group_checkpoint") == names["group_checkpoint"]
        assert fork("group_main", "branch", "group_branch") == names["group_branch"]

    def test_takes_the_first_free_number(self) -> None:
        taken = {"X - Branch #1", "X - Branch #2", "X - Branch #4"}

        assert default_fork_name("X - Branch #1", "branch", taken.__contains__, DEFAULT) == (
            "X - Branch #3",
            3,
        )

    def test_a_long_parent_is_cut_so_that_the_whole_fits(self) -> None:
        name, _ = default_fork_name("界" * 100, "checkpoint", nothing_is_taken, DEFAULT)

        assert name == "界" * 73 + " - Checkpoint #1"
        assert fits(name)

    @pytest.mark.parametrize(
        "template, expected",
        [
            ("{n}. fork of {parent}", "1. fork of X"),
            ("{parent} again", "X again #1"),
            ("", "#1"),
            ("{parent}: {n}?", "X 1"),
            ("{parent}{parent}{n}", "XX1"),
            ("con.{n}", "_con.1"),
            ("{parent} {}{0}{n}", "X {}{0}1"),
            ("x" * 230 + "{parent}{n}", "X - Branch #1"),
        ],
    )
    def test_a_template_of_ones_own_is_filled_in(self, template: str, expected: str) -> None:
        templates = NameTemplates(branch=template)

        assert default_fork_name("X", "branch", nothing_is_taken, templates) == (expected, 1)

    def test_a_main_chat_is_no_fork(self) -> None:
        with pytest.raises(ValueError, match="'main'"):
            default_fork_name("X", "main", nothing_is_taken, DEFAULT)

    @given(parents, kinds, st.integers(1, 12), st.just(DEFAULT) | st.builds(NameTemplates, any_text, any_text))
    def test_is_free_fits_and_is_stable(
        self, parent: str, kind: str, first_free: int, templates: NameTemplates
    ) -> None:
        asked: list[str] = []

        def taken(name: str) -> bool:
            asked.append(name)
            return len(asked) < first_free

        name, n = default_fork_name(parent, kind, taken, templates)

        assert (name, n) == (asked[-1], first_free)
        assert name
        assert sanitise(name) == name
        assert fits(name)

    @given(st.text(st.sampled_from("ab界 -#1"), min_size=1), kinds)
    def test_a_default_name_tells_its_kind_and_is_its_own_sibling(self, parent: str, kind: str) -> None:
        name, _ = default_fork_name(parent, kind, nothing_is_taken, DEFAULT)

        has_parent = default_fork_name("", kind, nothing_is_taken, DEFAULT)[0] != name
        assert has_parent or not parent.strip(" -")
        assert kind_from_name(name) == (kind if has_parent else None)
        assert " - - " not in name.removeprefix(parent.strip())
        assert default_fork_name(name, kind, nothing_is_taken, DEFAULT)[0] == name


class TestReadingNames:
    @pytest.mark.req(82)
    @pytest.mark.parametrize(
        "name, kind, message, parent",
        [
            ("X - Checkpoint #3", "checkpoint", None, "X"),
            ("X - Branch #12", "branch", None, "X"),
            ("X - Branch #1 - Checkpoint #2", "checkpoint", None, "X - Branch #1"),
            ("Checkpoint #3 - X", "checkpoint", None, None),
            ("Branch #42 - 2025-11-02@21h05m23s", "branch", 42, None),
            ("Branch #0 - 2024-6-5 @14h 56m 50s 682ms", "branch", 0, None),
            (
                "Branch #42 - 2025-11-02@21h05m23s - Checkpoint #1",
                "checkpoint",
                None,
                "Branch #42 - 2025-11-02@21h05m23s",
            ),
            (
                "Branch #42 - 2025-11-02@21h05m23s - Branch #2",
                "branch",
                None,
                "Branch #42 - 2025-11-02@21h05m23s",
            ),
            ("Branch #3 - The cave", "branch", None, None),
            ("Branch #" + "9" * 5000 + " - 2025-11-02@21h05m23s", "branch", None, None),
            ("Mira - 2026-11-15@18h36m02s446ms", None, None, None),
            ("Checkpoint #3", None, None, None),
            ("X - Checkpoint #", None, None, None),
            ("X - Checkpoint #3\n", None, None, None),
            ("X - Checkpoint #٣", None, None, None),
            ("X - checkpoint #3", None, None, None),
            ("The key in hand - 2025-11-02@21h04m23s", None, None, None),
            ("", None, None, None),
        ],
    )
    def test_new_and_old_styles_are_understood(
        self, name: str, kind: str | None, message: int | None, parent: str | None
    ) -> None:
        assert kind_from_name(name) == kind
        assert message_from_old_branch_name(name) == message
        assert parent_from_name(name) == parent

    @given(parents)
    def test_any_name_can_be_read(self, name: str) -> None:
        parent = parent_from_name(name)

        assert kind_from_name(name) in {"checkpoint", "branch", None}
        assert parent is None or (parent and name.startswith(parent))
        assert parent is None or message_from_old_branch_name(name) is None


class TestCloneLabel:
    @pytest.mark.req(57)
    @pytest.mark.parametrize(
        "text, label",
        [
            ("Test", "Test"),
            ("Test #5!", "Test_5"),
            ("a-b_c", "a-b_c"),
            ("a  \t b", "a_b"),
            ("a ! b", "a_b"),
            ("  padded  ", "padded"),
            ("__CP_x", "CP_x"),
            ("___", "___"),
            ("Der Schlüssel", "Der_Schlüssel"),
            ("鍵を手に 2", "鍵を手に_2"),
            ("हिन्दी", "हिन्दी"),
            ("Cafe\u0301", "Cafe\u0301"),
            ("🗝", ""),
            ("../..", ""),
            ("", ""),
        ],
    )
    def test_keeps_letters_and_digits_of_any_script(self, text: str, label: str) -> None:
        assert clone_label(text) == label

    @pytest.mark.req(58)
    def test_is_limited_to_fifty_characters(self) -> None:
        assert clone_label("x" * 60) == "x" * 50
        assert clone_label("界" * 60) == "界" * 50
        assert clone_label("x" * 49 + " y") == "x" * 49

    @given(any_text)
    def test_is_short_clean_and_stable(self, text: str) -> None:
        label = clone_label(text)

        assert len(label) <= 50
        assert all(character in "_-" or unicodedata.category(character)[0] in "LNM" for character in label)
        assert clone_label(label) == label
        assert sanitise(label) == label or sanitise(label) == ""


class TestCloneName:
    @pytest.mark.req(55, 56)
    def test_marks_a_checkpoint_clone(self) -> None:
        name = clone_name("z-AutoLB-main", "checkpoint", "Test", nothing_is_taken)

        assert name == "z-AutoLB-main__CP_Test"

    @pytest.mark.req(57)
    def test_the_label_loses_other_characters(self) -> None:
        name = clone_name("z-AutoLB-main", "checkpoint", "Test #5!", nothing_is_taken)

        assert name == "z-AutoLB-main__CP_Test_5"

    @pytest.mark.req(58)
    def test_the_label_is_limited_to_fifty_characters(self) -> None:
        name = clone_name("z-AutoLB-main", "checkpoint", "x" * 80, nothing_is_taken)

        assert name == "z-AutoLB-main__CP_" + "x" * 50

    @pytest.mark.req(55)
    @pytest.mark.parametrize(
        "base, kind, label_source, expected",
        [
            ("Lore", "branch", "Branch_1", "Lore__BR_Branch_1"),
            ("Lore__CP_Test", "branch", "Branch_1", "Lore__BR_Branch_1"),
            ("Lore__BR_a__CP_b_2", "checkpoint", "c", "Lore__CP_c"),
            ("__CP_Test", "checkpoint", "c", "__CP_Test__CP_c"),
            ("Lore", "checkpoint", "🗝", "Lore__CP_Checkpoint"),
            ("Lore", "branch", "", "Lore__BR_Branch"),
            ("con.x", "checkpoint", "c", "_con.x__CP_c"),
            ("CON", "checkpoint", "c", "CON__CP_c"),
            ("a/b: c", "checkpoint", "c", "ab c__CP_c"),
            ("Lore. ", "checkpoint", "c", "Lore. __CP_c"),
        ],
    )
    def test_derives_from_base_and_label(self, base: str, kind: str, label_source: str, expected: str) -> None:
        assert clone_name(base, kind, label_source, nothing_is_taken) == expected

    @pytest.mark.req(59)
    def test_a_taken_name_gets_the_next_free_number(self) -> None:
        taken = {"Lore__CP_Test", "Lore__CP_Test_2"}

        assert clone_name("Lore", "checkpoint", "Test", taken.__contains__) == "Lore__CP_Test_3"

    @pytest.mark.req(58, 59)
    def test_a_long_base_is_cut_before_the_label(self) -> None:
        first = clone_name("b" * 300, "checkpoint", "l" * 60, nothing_is_taken)
        second = clone_name("b" * 300, "checkpoint", "l" * 60, {first}.__contains__)

        assert first == "b" * 180 + "__CP_" + "l" * 50
        assert second == "b" * 178 + "__CP_" + "l" * 50 + "_2"

    @pytest.mark.req(58)
    def test_a_label_of_long_characters_is_cut_when_the_base_is_at_its_shortest(self) -> None:
        letter = "\U00020000"  # a letter of four bytes

        name = clone_name("b" * 300, "checkpoint", letter * 60, nothing_is_taken)

        assert name == "b" * 40 + "__CP_" + letter * 47

    def test_a_main_chat_has_no_clone(self) -> None:
        with pytest.raises(ValueError, match="'main'"):
            clone_name("Lore", "main", "Test", nothing_is_taken)

    @pytest.mark.req(55, 58, 59)
    @given(parents, kinds, any_text | names_like_these, st.integers(1, 12))
    def test_is_free_fits_and_is_stable(self, base: str, kind: str, label_source: str, free_at: int) -> None:
        asked: list[str] = []

        def taken(name: str) -> bool:
            asked.append(name)
            return len(asked) < free_at

        name = clone_name(base, kind, label_source, taken)

        assert name == asked[-1]
        assert len(set(asked)) == free_at
        assert sanitise(name) == name
        assert len(name.encode()) <= MAX_NAME_BYTES
        assert {"checkpoint": "__CP_", "branch": "__BR_"}[kind] in name

    @given(st.text(st.sampled_from("ab界 ."), min_size=1).map(sanitise).filter(bool), kinds, kinds)
    def test_a_clone_of_a_clone_has_the_same_base(self, base: str, kind: str, next_kind: str) -> None:
        clone = clone_name(base, kind, "one", nothing_is_taken)

        assert clone_name(clone, next_kind, "two", nothing_is_taken) == clone_name(
            base, next_kind, "two", nothing_is_taken
        )


@pytest.mark.parametrize(
    "name, label",
    [
        ("Mira - 2026-11-15@18h36m02s446ms - Checkpoint #3", "Checkpoint_3"),
        ("Mira - Branch #12", "Branch_12"),
        ("Branch #42 - 2025-11-02@21h05m23s", "Branch_42"),
        ("Checkpoint #2 - 2023-11-3 @23h 45m 12s 272ms", "Checkpoint_2"),
        ("The key in hand - 2025-11-02@21h04m23s", "The key in hand"),
        ("The key in hand - 2023-11-3 @23h 45m 12s 272ms", "The key in hand"),
        ("Just a name", "Just a name"),
        (" - 2025-11-02@21h04m23s", " - 2025-11-02@21h04m23s"),
    ],
)
def test_a_fork_that_is_there_already_labels_its_lorebook(name: str, label: str) -> None:
    assert fork_label(name) == label
