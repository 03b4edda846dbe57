"""How values read on a page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from matins.web.charts.bars import Bar
from matins.web.wording import (
    count,
    distance,
    elapsed,
    instant,
    job_path,
    length,
    linked,
    percent,
    plural,
    shortened,
    told,
    with_query,
)

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0.0124, "12 ms"), (4.25, "4.2 s"), (59.4, "59 s"), (60, "1m 00s"), (245, "4m 05s")),
        *((3600, "1h 00m"), (90_000, "1d 01h"), (-4, "-4.0 s")),
    ],
)
def test_a_length_is_told_in_its_two_largest_units(seconds: float, text: str) -> None:
    assert length(seconds) == text


def test_how_far_away_an_instant_is() -> None:
    assert "in 4m 05s" in distance(NOON + timedelta(seconds=245), NOON)
    assert "2h 10m ago" in distance(NOON - timedelta(minutes=130), NOON)


def test_how_long_something_goes_on_is_no_distance() -> None:
    assert ">2h 10m</time>" in elapsed(NOON - timedelta(minutes=130), NOON)
    assert ">0 ms</time>" in elapsed(NOON + timedelta(seconds=1), NOON)


def test_an_instant_is_in_utc_for_the_script_to_show_otherwise() -> None:
    assert 'datetime="2026-03-02T12:00:00+00:00"' in instant(NOON)


def test_counts_and_shares() -> None:
    assert (count(12345), plural(1, "job"), plural(0, "job")) == ("12\xa0345", "1 job", "0 jobs")
    assert (percent(1.0), percent(0.9949)) == ("100 %", "99.5 %")


def test_names_are_quoted_in_addresses() -> None:
    assert job_path("a/b", "c?d") == "/teams/a%2Fb/jobs/c%3Fd"
    assert with_query("/jobs", {"q": "a&b", "after": "x"}, after=None) == "/jobs?q=a%26b"


def test_a_long_name_is_shortened_and_says_so() -> None:
    assert shortened("publish-dashboards", 10) == "publish-d\N{HORIZONTAL ELLIPSIS}"


RUN = "01a22ed7-7590-83e7-ba42-8e6d82372012"


def test_runs_are_links_and_commands_stand_out() -> None:
    assert told(f"run {RUN} is queued; `matins runs cancel` ends it") == (
        f'Run <a href="/runs/{RUN}"><code>{RUN}</code></a> is queued;'
        " <code>matins runs cancel</code> ends it."
    )


def test_instants_in_a_sentence_read_as_all_others() -> None:
    assert (
        told("until 2026-03-02T12:00:00Z at the latest") == f"Until {instant(NOON)} at the latest."
    )
    assert told("by 2026-06-31T12:00:00Z") == "By 2026-06-31T12:00:00Z."


def test_what_a_bar_tells_stays_text() -> None:
    bar = Bar(0, 1, 5, 23, "dead", f"/runs/{RUN}", 'dead: <b onclick="x">')
    assert linked([bar]) == (
        f'<a href="/runs/{RUN}" tabindex="-1"><rect class="fill-dead" x="0" y="1" width="5"'
        ' height="23"><title>dead: &lt;b onclick=&#34;x&#34;&gt;</title></rect></a>'
    )


def test_what_is_told_stays_text() -> None:
    assert told("`<b>` says <script>") == "<code>&lt;b&gt;</code> says &lt;script&gt;."
    assert told("job 01a22ed7-7590-43e7-ba42-8e6d82372012") == (
        "Job 01a22ed7-7590-43e7-ba42-8e6d82372012."
    )
