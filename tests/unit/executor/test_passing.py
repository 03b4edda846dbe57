"""What a keeper passes on of a command: the newest, or all up to a bound; honest about the rest."""

from __future__ import annotations

from matins.executor.keeper.frames import KeeperLimits
from matins.executor.keeper.passing import CHUNK, Passing
from matins.executor.masking import Mask

LIMITS = KeeperLimits(head_max=40, tail_max=40, live_max=30, whole_max=3 * CHUNK)


def passing(keep: int = 0, *secrets: str) -> Passing:
    return Passing(LIMITS, Mask(secrets), keep)


def lines(first: int, past: int) -> bytes:
    """Return lines of ten bytes each."""
    return b"".join(b"line %04d\n" % number for number in range(first, past))


def test_what_came_since_the_last_time_is_taken_once() -> None:
    output = passing()
    output.append(b"one\n")
    assert output.has_news
    assert output.take() == {"live": "one\n"}
    assert not output.has_news
    output.append(b"two\n")
    assert output.take() == {"live": "two\n"}


def test_of_much_the_newest_is_taken_and_the_rest_is_counted() -> None:
    output = passing()
    output.append(lines(0, 5))
    output.append(lines(5, 10))
    assert output.take() == {"live": f"\n[... 70 bytes left out ...]\n{lines(7, 10).decode()}"}


def test_progress_is_taken_when_it_changed() -> None:
    output = passing()
    output.append(b"::progress 1/2\n")
    assert output.take() == {"live": "::progress 1/2\n", "progress": (1.0, 2.0, "")}
    output.append(b"x\n")
    assert output.take() == {"live": "x\n"}


def test_what_ends_before_anything_was_taken_is_told_by_its_result_alone() -> None:
    output = passing()
    output.append(b"short\n::set a=1\n")
    assert output.finish() == {}
    assert output.result() == {
        "output": "short\n::set a=1\n",
        "output_cut": 0,
        "results": {"a": "1"},
    }


def test_what_was_followed_is_taken_to_its_end() -> None:
    output = passing(0, "s3cret-value")
    output.append(b"one\ns3cret")
    assert output.take() == {"live": "one\n"}
    assert output.finish() == {"live": "s3cret"}


def test_output_that_is_kept_is_taken_whole() -> None:
    output = passing(keep=1000)
    output.append(lines(0, 50))
    assert output.take() == {"output": lines(0, 50).decode()}
    output.append(lines(50, 60))
    assert output.finish() == {"output": lines(50, 60).decode()}


def test_beyond_its_bound_the_end_is_kept_and_the_live_output_goes_on() -> None:
    output = passing(keep=100)
    output.append(lines(0, 12))
    assert output.take() == {"output": lines(0, 10).decode(), "live": lines(10, 12).decode()}
    output.append(lines(12, 15))
    assert output.take() == {"live": lines(12, 15).decode()}
    output.append(lines(15, 17))
    end = output.finish()
    assert end["live"] == lines(15, 17).decode()
    assert end["kept"] == f"\n[... 30 bytes left out ...]\n{lines(13, 17).decode()}"


def test_an_end_little_beyond_the_bound_is_kept_without_a_gap() -> None:
    output = passing(keep=100)
    output.append(lines(0, 13))
    taken = output.finish()
    assert f"{taken['output']}{taken['kept']}" == lines(0, 13).decode()


def test_what_is_kept_and_not_taken_in_time_leaves_a_gap() -> None:
    output = passing(keep=10_000_000)
    for _ in range(2):
        assert not output.is_full
        output.append(b"a" * CHUNK)
    output.append(b"a" * CHUNK)
    assert output.is_full
    output.append(b"b" * CHUNK)
    text = f"{output.take()['output']}"
    assert text.startswith(f"\n[... {CHUNK} bytes left out ...]\na")
    assert text.endswith("b" * CHUNK)


def test_results_are_masked_and_those_that_are_none_are_counted() -> None:
    output = passing(0, "s3cret-value")
    output.append(b"::set a=s3cret-value!\n::set b\n")
    result = output.result()
    assert result["results"] == {"a": "***!"}
    assert "1 lines with ::set were too many, too long or not key=value" in f"{result['output']}"
