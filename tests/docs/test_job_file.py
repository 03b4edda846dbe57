"""The page on the job file is true: its examples are read, its tables compared with the Structs."""

from __future__ import annotations

import re

import msgspec
import pytest
from tests.docs.tables import DOCS, tables

from matins.cli.applying import read_jobs
from matins.domain.jobs.keeping import Keep
from matins.domain.jobs.misfire import Misfire
from matins.domain.jobs.overlap import Overlap
from matins.domain.jobs.retry import Backoff, RetryPolicy
from matins.domain.jobs.spec import JobFile, JobSpec
from matins.domain.jobs.targets import CommandTarget, HttpTarget
from matins.domain.values.errors import InvalidInputError

PAGE = "job-file.md"
TEXT = (DOCS / PAGE).read_text("utf-8")
FIELDS = "| field | meaning | default |"
STRUCTS = (
    JobFile,
    JobSpec,
    HttpTarget,
    CommandTarget,
    RetryPolicy,
    Backoff,
    Overlap,
    Misfire,
    Keep,
)


@pytest.mark.parametrize("text", re.findall(r"^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
def test_example_files_are_valid(text: str) -> None:
    assert read_jobs(text, "jobs.yaml").jobs


@pytest.mark.parametrize("number", range(len(STRUCTS)), ids=[struct.__name__ for struct in STRUCTS])
def test_each_table_has_the_fields_of_its_struct_with_their_defaults(number: int) -> None:
    fields = {field.name: field for field in msgspec.structs.fields(STRUCTS[number])}
    rows = {name.strip("`"): told for name, _, told in tables(PAGE, FIELDS)[number]}
    assert rows.keys() == fields.keys()
    needed = {name for name, told in rows.items() if told == "needed"}
    assert needed == {name for name, field in fields.items() if field.required}
    for name, told in rows.items():
        if told.startswith("`"):
            default = fields[name].default
            shown = f"{default:g}" if isinstance(default, float) else str(default)
            assert told == f"`{shown}`"


def test_example_jobs_are_refused_as_the_page_says() -> None:
    [rows] = tables(PAGE, "| job | place | the message contains |")
    assert len(rows) > 5
    for job, place, message in rows:
        with pytest.raises(InvalidInputError) as refused:
            read_jobs(f"jobs: [{job.strip('`')}]", "f")
        [problem] = refused.value.problems
        assert problem.where.partition(" (")[0] == f"f: jobs[0].{place.strip('`')}", job
        assert message in problem.message
