import json
from typing import Any

import pytest

from forklore.planning.swipe import NoSuchSwipe, choose_swipe, shown_again, shown_swipe
from forklore.testing.stories import Json, line, message, swiped


def chosen(value: Json, swipe: int) -> Json:
    made: Json = json.loads(choose_swipe(line(value), swipe))
    return made


class TestShown:
    @pytest.mark.parametrize("value, shown", [(swiped("a", "b", shown=1), 1), (message("a"), 0)])
    def test_a_message_without_swipes_shows_its_only_one(self, value: Json, shown: int) -> None:
        assert shown_swipe(line(value)) == shown


class TestChoosing:
    @pytest.mark.req(76, 164)
    def test_text_dates_and_extra_come_from_the_chosen_swipe(self) -> None:
        value = swiped("One.", "Two.", extras=[{"a": 1}, {"b": 2}])

        made = chosen(value, 1)

        assert made["mes"] == "Two."
        assert made["swipe_id"] == 1
        assert made["extra"] == {"b": 2}
        assert made["send_date"] == value["swipe_info"][1]["send_date"]
        assert made["swipes"] == ["One.", "Two."]

    @pytest.mark.req(76)
    def test_what_the_message_says_now_goes_back_into_its_swipe(self) -> None:
        value = swiped("One.", "Two.") | {"mes": "One, edited.", "extra": {"bookmark_link": "A"}, "gen_started": "now"}

        made = chosen(value, 1)

        assert made["swipes"] == ["One, edited.", "Two."]
        assert made["swipe_info"][0]["extra"] == {"bookmark_link": "A"}
        assert made["swipe_info"][0]["gen_started"] == "now"
        assert "gen_started" not in made
        assert made["extra"] == {}

    def test_without_notes_about_swipes_the_text_still_goes_back(self) -> None:
        value = {key: value for key, value in swiped("One.", "Two.").items() if key != "swipe_info"}

        made = chosen(value | {"mes": "One, edited.", "extra": {"a": 1}}, 1)

        assert made["swipes"] == ["One, edited.", "Two."]
        assert (made["mes"], made["swipe_id"], made["extra"]) == ("Two.", 1, {})

    def test_everything_else_stays_as_it_is_written(self) -> None:
        swipes = b'"swipe_id":0 ,"swipes":["a","\\ud83d"], "swipe_info":[{},{}]'
        text = b'{ "odd":1E5, "mes":"a", ' + swipes + b', "big":123456789012345678901234567890 }'

        made = choose_swipe(text, 1)

        assert made.startswith(b'{ "odd":1E5, "mes":"\\ud83d", "swipe_id":1 ,"swipes":["a","\\ud83d"]')
        assert b'"big":123456789012345678901234567890' in made

    def test_choosing_back_and_forth_loses_nothing(self) -> None:
        value = swiped("One.", "Two.", extras=[{"a": 1}, {"b": 2}])

        assert chosen(chosen(value, 1), 0) == value

    @pytest.mark.parametrize(
        "value, swipe, count",
        [
            (swiped("a", "b"), 2, 2),
            (swiped("a", "b"), -1, 2),
            (message("a"), 1, 0),
            (swiped("a") | {"swipes": [None]}, 0, 1),
            (swiped("a") | {"swipes": "text"}, 0, 0),
        ],
    )
    def test_a_swipe_that_is_not_there_is_a_bad_request(self, value: Json, swipe: int, count: int) -> None:
        with pytest.raises(NoSuchSwipe) as refused:
            choose_swipe(line(value), swipe)

        assert refused.value.code == "SWIPE_NOT_FOUND"
        assert refused.value.params == {"swipe": swipe, "count": count}

    @pytest.mark.parametrize("infos", [None, "text", [], [None, None], ["x", {"extra": "text"}]])
    @pytest.mark.parametrize("shown", [0, 2, 9, None, "0"])
    def test_odd_notes_about_swipes_are_survived(self, infos: Any, shown: Any) -> None:
        made = chosen(swiped("a", "b") | {"swipe_info": infos, "swipe_id": shown}, 1)

        assert (made["mes"], made["swipe_id"], made["swipes"]) == ("b", 1, ["a", "b"])

    def test_without_a_list_of_notes_the_dates_stay(self) -> None:
        value = swiped("a", "b") | {"swipe_info": {"1": {"send_date": "then"}}, "gen_started": "now"}

        made = chosen(value, 1)

        assert (made["send_date"], made["gen_started"]) == (value["send_date"], "now")


class TestShowingAgain:
    def test_a_hidden_message_is_shown(self) -> None:
        hidden = line(message("a", is_system=True, odd=1))

        assert shown_again(hidden) == hidden.replace(b'"is_system":true', b'"is_system":false')

    @pytest.mark.parametrize(
        "value",
        [
            message("a"),
            message("a", is_system=True, extra={"type": "narrator"}),
            message("a") | {"is_system": "true"},
        ],
    )
    def test_any_other_message_stays_the_very_line(self, value: Json) -> None:
        text = line(value)

        assert shown_again(text) is text

    def test_a_line_that_cannot_be_read_stays_as_it_is(self) -> None:
        assert shown_again(b'{"is_system":true') == b'{"is_system":true'
