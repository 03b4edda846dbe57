-- What policies need of a run's row.
-- `revision`: that of the job by which the run is called; null: the one in force when it is handed out.
-- `input`: what a trigger changes of the target, for this run alone.
-- `allow_overlap`: its owner starts it whatever else of its job runs.
-- `holds_permits`: its attempt holds permits, which the statement that ends the attempt gives back.
ALTER TABLE runs
    ADD COLUMN revision integer,
    ADD COLUMN input jsonb,
    ADD COLUMN allow_overlap boolean NOT NULL DEFAULT false,
    ADD COLUMN holds_permits boolean NOT NULL DEFAULT false;
ALTER TABLE past_runs
    ADD COLUMN revision integer,
    ADD COLUMN input jsonb,
    ADD COLUMN allow_overlap boolean NOT NULL DEFAULT false,
    ADD COLUMN holds_permits boolean NOT NULL DEFAULT false;
ALTER TABLE kept_runs
    ADD COLUMN revision integer,
    ADD COLUMN input jsonb,
    ADD COLUMN allow_overlap boolean NOT NULL DEFAULT false,
    ADD COLUMN holds_permits boolean NOT NULL DEFAULT false;

CREATE OR REPLACE VIEW all_runs AS
SELECT * FROM runs
UNION ALL
SELECT * FROM past_runs
UNION ALL
SELECT * FROM kept_runs;

-- `is_asked`: each claim of the job is asked about, since a gate or a backfill of it may hold the run.
-- `open_since`: all its runs that were due before are over. Null: not known. Backfills apart.
ALTER TABLE jobs
    ADD COLUMN is_asked boolean NOT NULL DEFAULT false,
    ADD COLUMN open_since timestamptz;
