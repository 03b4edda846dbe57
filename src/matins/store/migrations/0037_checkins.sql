-- Check-ins: the token of each job that something else runs, as its hash, and what was told of it last.
-- `next_at`: when the next ping is due by the pace that is allowed. `started_at`: it has begun, and
-- its end was not told yet.
CREATE TABLE checkins (
    job_id uuid PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    token_hash bytea NOT NULL UNIQUE,
    made_at timestamptz NOT NULL,
    next_at timestamptz NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    state text NOT NULL DEFAULT '' CHECK (state IN ('', 'succeeded', 'dead'))
) WITH (fillfactor = 70);
