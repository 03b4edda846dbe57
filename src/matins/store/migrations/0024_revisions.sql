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
