"""Days and times as people say them, and lists over several objects."""

import time
from collections.abc import Iterator
from datetime import date, datetime, timedelta

import pytest
from player import Answer

from iac_base.errors import InvalidParameterError
from iac_runtime.language.steps import local_day, read_date


@pytest.fixture(params=["UTC", "Asia/Tokyo", "America/New_York"])
def zone(request: pytest.FixtureRequest) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield request.param
    time.tzset()


def local(text: str) -> datetime:
    return datetime.fromtimestamp(read_date(text).ms / 1000)


def test_words_for_days_are_local_days(zone: str) -> None:
    today = date.today()
    assert local("today") == datetime.combine(today, datetime.min.time())
    assert local("Tomorrow 14:30") == local("today") + timedelta(days=1, hours=14.5)
    assert local("yesterday 9:00") == local("today") - timedelta(hours=15)
    assert local("tomorrowT09:00") == local("tomorrow 9:00")
    monday = local("Monday").date()
    assert monday.weekday() == 0
    assert timedelta(0) < monday - today <= timedelta(7)
    assert abs(local("now") - datetime.now()) < timedelta(minutes=1)


def test_a_day_is_that_of_the_place(zone: str) -> None:
    assert local_day("2026-11-24T23:30") == "2026-11-24"
    assert local_day("2026-12-31", 1) == "2027-01-01"


def test_what_is_no_date_is_told_how_to_write_one() -> None:
    with pytest.raises(InvalidParameterError) as caught:
        read_date("someday")
    assert "tomorrow 14:30" in caught.value.suggestion


def test_the_apps_come_with_the_time_and_the_zone(answer: Answer) -> None:
    told = answer("list_apps", {})["result"]
    assert date.today().isoformat() in told["now"]
    assert told["zone"]


def test_a_list_looks_in_several_objects(answer: Answer) -> None:
    everything = {"element": "event", "of": "calendars", "order": ["-start date"]}
    rows = answer("calendar_list", everything)["result"]
    assert len({row["ref"].split(".events")[0] for row in rows}) == 2
    starts = [row["start date"] for row in rows]
    assert starts == sorted(starts, reverse=True)
    assert answer("calendar_list", {**everything, "limit": 2})["result"] == rows[:2]
    first = answer("calendar_get", {"target": rows[0]["ref"], "properties": ["summary"]})
    assert first["result"]["summary"] == rows[0]["summary"]


def test_a_page_of_several_objects_cannot_be_asked_for(answer: Answer) -> None:
    told = answer("safari_list", {"element": "tab", "of": "windows", "offset": 1})
    assert "several objects" in told["message"]


def test_a_person_is_asked_about_a_date_and_not_about_tomorrow(answer: Answer) -> None:
    tomorrow = (date.today() + timedelta(days=1)).isoformat()
    times = {"start date": "tomorrow 12:00", "end date": "tomorrow 13:00"}
    event = {"element": "event", "at": "calendars[0]", "properties": {"summary": "A", **times}}
    recipe = {"calendar": "calendars[0]", "title": "A", "from": "tomorrow 12:00", "until": "now"}
    for told in (answer("calendar_make", event), answer("calendar_make_event", recipe)):
        assert f"{tomorrow}T12:00" in told["asks"].text
        assert "tomorrow" not in told["asks"].text
