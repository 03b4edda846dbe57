-- What owners' changes leave behind.

-- Which run an idempotency key of a job stands for. `fingerprint`: of what was asked for with it.
CREATE TABLE trigger_keys (
    job_id uuid NOT NULL,
    key text NOT NULL,
    run_id uuid NOT NULL,
    fingerprint text NOT NULL,
    made_at timestamptz NOT NULL,
    PRIMARY KEY (job_id, key)
);
CREATE INDEX trigger_keys_made ON trigger_keys (made_at);

-- Who made a revision, and why; empty: that was not noted.
ALTER TABLE revisions
    ADD COLUMN changed_by text NOT NULL DEFAULT '',
    ADD COLUMN change_reason text NOT NULL DEFAULT '';

-- When a paused job goes on by itself, and what becomes of what it missed.
ALTER TABLE jobs ADD COLUMN paused_until timestamptz, ADD COLUMN resume_missed text;
CREATE INDEX jobs_paused_until ON jobs (paused_until) WHERE paused_until IS NOT NULL;
