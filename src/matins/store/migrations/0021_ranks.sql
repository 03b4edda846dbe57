-- One number orders the queue of a pool: the rank, in which the priority is a head start. Processes of
-- the version before do not know that: stop them first.

-- The rank of a run that comes by itself: in microseconds since 1970, with the head start of its
-- priority (domain/runs/ranking.py).
CREATE FUNCTION rank_at(instant timestamptz, priority smallint) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT (extract(epoch FROM instant) * 1000000)::bigint
           - CASE priority WHEN 0 THEN 15000000 WHEN 2 THEN -45000000 ELSE 0 END
$$;

ALTER TABLE dispatch DROP CONSTRAINT dispatch_pkey;
UPDATE dispatch
SET rank = rank - CASE priority WHEN 0 THEN 15000000 WHEN 2 THEN -45000000 ELSE 0 END;
ALTER TABLE dispatch DROP COLUMN priority;
ALTER TABLE dispatch ADD PRIMARY KEY (pool, rank, run_id);

-- With which rank a run was put on the queue: so that its place there is found by the primary key.
ALTER TABLE runs ADD COLUMN rank bigint;
ALTER TABLE past_runs ADD COLUMN rank bigint;
ALTER TABLE kept_runs ADD COLUMN rank bigint;
CREATE OR REPLACE VIEW all_runs AS
SELECT * FROM runs
UNION ALL
SELECT * FROM past_runs
UNION ALL
SELECT * FROM kept_runs;
UPDATE runs r SET rank = d.rank FROM dispatch d WHERE r.id = d.run_id AND r.due_at = d.due_at;

-- A team's share of each pool, beside other teams that have runs there.
ALTER TABLE teams ADD COLUMN weight integer NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000);
CREATE INDEX teams_weighted ON teams (id) WHERE weight <> 1;

-- What gateways measure of each pool, once a second while they hand out. `gap_s`: the time from one
-- start to the next while runs were left on the queue. `reached`: the rank up to where the queue was
-- taken when they looked last; null: it was empty. `emptied_at`: when it last was.
CREATE TABLE pools (
    pool text PRIMARY KEY,
    gap_s double precision NOT NULL,
    reached bigint,
    emptied_at timestamptz,
    noted_at timestamptz NOT NULL
) WITH (fillfactor = 50);
