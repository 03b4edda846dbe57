-- Who replayed a run last: by one attempt more, or, with another input, as this run in its place.
ALTER TABLE runs ADD COLUMN replayed_by text;
ALTER TABLE past_runs ADD COLUMN replayed_by text;
ALTER TABLE kept_runs ADD COLUMN replayed_by text;

CREATE OR REPLACE VIEW all_runs AS
SELECT * FROM runs
UNION ALL
SELECT * FROM past_runs
UNION ALL
SELECT * FROM kept_runs;
