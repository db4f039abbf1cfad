"""Work is followed and cancelled; a question of many is answered once."""

import asyncio
from contextlib import ExitStack
from pathlib import Path

import pytest

from forklore.app.progress import Cancelled
from forklore.disk.lock import CreationInProgress
from forklore.errors import BadRequest
from forklore.model.fact import fact
from forklore.web.access import Holder, TooManyRequests
from forklore.web.events import Events
from forklore.web.jobs import JobNotFound, Jobs, Together, Wish
from tests.unit.web.clocks import run

ROOT = Path("data/default-user")
ANNA, BORIS = Holder(ROOT, "anna's key"), Holder(ROOT, "boris's key")


async def answers(count: int, gap: float, fails: bool = False) -> tuple[list[object], int]:
    """Ask *count* times with a *gap* between, and return the answers and how often the work was done."""
    together: Together[int] = Together(0.1)
    done = 0

    async def work() -> int:
        nonlocal done
        done += 1
        await asyncio.sleep(0.01)
        if fails:
            raise BadRequest("unreadable")
        return done

    async def ask(after: float) -> int:
        await asyncio.sleep(after)
        return await together.ask("chat", work)

    asked = [asyncio.create_task(ask(gap * number)) for number in range(count)]
    got = await asyncio.gather(*asked, return_exceptions=True)
    return list(got), done


@pytest.mark.req(102, 103)
@pytest.mark.parametrize("gap", [0.0, 0.001, 0.005])
def test_those_who_ask_within_a_moment_get_one_answer(gap: float) -> None:
    assert run(answers(20, gap)) == ([1] * 20, 1)


@pytest.mark.parametrize("gap", [0.101, 0.109, 0.15])
def test_who_asks_later_gets_an_answer_that_is_not_older_than_the_question(gap: float) -> None:
    got, done = run(answers(3, gap))
    assert (got, done) == ([1, 2, 3], 3)


def test_an_error_reaches_every_asker() -> None:
    got, done = run(answers(5, 0.0, fails=True))
    assert done == 1
    assert [type(each) for each in got] == [BadRequest] * 5


def test_an_asker_who_gives_up_takes_nobody_along() -> None:
    async def scene() -> int:
        together: Together[int] = Together(0.05)

        async def work() -> int:
            await asyncio.sleep(0.02)
            return 7

        first = asyncio.create_task(together.ask("chat", work))
        second = asyncio.create_task(together.ask("chat", work))
        await asyncio.sleep(0.01)
        first.cancel()
        return await asyncio.wait_for(second, 5)

    assert asyncio.run(scene()) == 7


def test_work_stops_when_it_is_cancelled() -> None:
    jobs = Jobs(Events())
    with jobs.begin(ANNA, "my-job-1") as job:
        job.go_on()
        jobs.cancel(ROOT, "my-job-1")
        with pytest.raises(Cancelled):
            job.go_on()
    with pytest.raises(JobNotFound):
        jobs.cancel(ROOT, "my-job-1")


def test_work_of_another_workspace_cannot_be_cancelled() -> None:
    jobs = Jobs(Events())
    with jobs.begin(ANNA, "my-job-1"), pytest.raises(JobNotFound):
        jobs.cancel(Path("data/somebody-else"), "my-job-1")


def test_a_job_has_a_name_of_its_own() -> None:
    jobs = Jobs(Events())
    for name in ("short", "x" * 65, "with blank", "../../etc", ""):
        with pytest.raises(BadRequest), jobs.begin(ANNA, name):
            pass
    with jobs.begin(ANNA, "my-job-1"), pytest.raises(BadRequest), jobs.begin(ANNA, "my-job-1"):
        pass


def test_one_client_has_six_tasks_at_a_time_and_two_long_ones() -> None:
    jobs = Jobs(Events())
    with ExitStack() as running:
        for _ in range(2):
            running.enter_context(jobs.begin(ANNA, None, is_long=True))
        with pytest.raises(TooManyRequests) as refused:
            running.enter_context(jobs.begin(ANNA, None, is_long=True))
        assert refused.value.params == {"case": "long_tasks", "count": 2}
        assert "Wait until one of them is done" in refused.value.action
        for _ in range(4):
            running.enter_context(jobs.begin(ANNA, None))
        with pytest.raises(TooManyRequests) as refused:
            running.enter_context(jobs.begin(ANNA, None))
        assert refused.value.params == {"case": "tasks", "count": 6}
        for _ in range(2):
            running.enter_context(jobs.begin(BORIS, None, is_long=True))  # others are not held up
    with jobs.begin(ANNA, None, is_long=True):
        pass


def test_all_clients_together_have_sixteen_tasks_at_a_time() -> None:
    jobs = Jobs(Events())
    with ExitStack() as running:
        for number in range(16):
            running.enter_context(jobs.begin(Holder(ROOT, f"key {number}"), None))
        with pytest.raises(CreationInProgress, match="16 operations are already waiting"):
            running.enter_context(jobs.begin(ANNA, None))


def test_stopping_cancels_what_runs_and_begins_nothing_more() -> None:
    jobs = Jobs(Events())
    with jobs.begin(ANNA, None) as job:
        jobs.stop()
        with pytest.raises(Cancelled):
            job.go_on()
    with pytest.raises(Cancelled), jobs.begin(ANNA, None):
        pass


WISH = Wish("isolate", "Mira/Tale")


def test_work_with_a_wish_is_found_with_how_far_it_has_come_and_what_came_of_it() -> None:
    jobs = Jobs(Events())
    with jobs.begin(ANNA, "my-job-1", wish=WISH) as job:
        job.advance(1, 3)
        (running,) = jobs.wished(ROOT)
        shown = {"job": "my-job-1", "command": "isolate", "chat": "Mira/Tale", "done": 1, "total": 3, "ended": False}
        assert running.to_json() == shown
        assert jobs.wished(Path("data/somebody-else")) == []
        job.answer = {"forks": []}

    found = jobs.find(ROOT, "my-job-1").whole_json()
    assert found == {**shown, "ended": True, "answer": {"forks": []}, "problem": None}


def test_what_went_wrong_is_found_too() -> None:
    jobs = Jobs(Events())
    for name, error in (
        ("my-job-1", BadRequest("unreadable")),
        ("my-job-2", OSError("no")),
        ("my-job-3", ValueError("secret")),
    ):
        with pytest.raises(type(error)), jobs.begin(ANNA, name, wish=WISH):
            raise error

    problems = [job.whole_json()["problem"] for job in jobs.wished(ROOT)]
    assert [each["status"] for each in problems] == [422, 409, 500]
    assert "secret" not in str(problems)


def test_what_somebody_has_seen_is_forgotten() -> None:
    jobs = Jobs(Events())
    with jobs.begin(ANNA, "my-job-1", wish=WISH) as job:
        job.answer = {}
    with pytest.raises(BadRequest), jobs.begin(ANNA, "my-job-1"):
        pass

    assert jobs.cancel(ROOT, "my-job-1") is False
    assert jobs.wished(ROOT) == []
    with pytest.raises(JobNotFound):
        jobs.find(ROOT, "my-job-1")


def test_of_what_nobody_looks_at_the_latest_eight_are_kept() -> None:
    jobs = Jobs(Events())
    for number in range(10):
        with jobs.begin(ANNA, f"my-job-{number}", wish=WISH) as job:
            job.answer = {}

    assert [job.to_json()["job"] for job in jobs.wished(ROOT)] == [f"my-job-{number}" for number in range(2, 10)]


def test_work_without_a_wish_leaves_nothing_to_find() -> None:
    jobs = Jobs(Events())
    with jobs.begin(ANNA, "my-job-1") as job:
        assert jobs.any_running
        with pytest.raises(JobNotFound):
            jobs.find(ROOT, "my-job-1")
        job.answer = {}

    assert jobs.wished(ROOT) == []
    assert not jobs.any_running


def test_progress_is_told_under_the_name_of_the_job() -> None:
    async def scene() -> list[str]:
        events = Events()
        heard: list[str] = []
        stream = events.listen(ROOT, ("hello", {}))
        heard.append(await anext(stream))
        with Jobs(events).begin(ANNA, "my-job-1") as job:
            job.step(1, fact("program_ended", exit_code=1))
            job.note(fact("program_missing", program="\ud83d"), good=True)
            job.advance(5, 10)
        heard += [await asyncio.wait_for(anext(stream), 5) for _ in range(3)]
        events.stop()
        heard += [each async for each in stream]
        return heard

    hello, step, note, advance, bye = asyncio.run(scene())
    assert hello == "event: hello\ndata: {}\n\n"
    assert step == (
        'event: progress\ndata: {"job":"my-job-1","step":{"number":1,"code":"program_ended",'
        '"params":{"exit_code":1},"text":"It ended with exit code 1."}}\n\n'
    )
    assert '"note":{"code":"program_missing","params":{"program":"\\ud83d"},"text":"The program ' in note
    assert note.endswith('was not found.","good":true}}\n\n')
    assert '"done":5,"total":10' in advance
    assert bye == "event: bye\ndata: {}\n\n"


def test_a_listener_who_is_too_slow_is_told_to_look_anew() -> None:
    async def scene() -> list[str]:
        events = Events()
        stream = events.listen(ROOT, ("hello", {}))
        await anext(stream)
        for number in range(1000):
            events.publish(ROOT, "progress", {"number": number})
        return [await asyncio.wait_for(anext(stream), 5) for _ in range(501)]

    heard = asyncio.run(scene())
    assert '"number":499' in heard[499]
    assert '"everything":true' in heard[500]
