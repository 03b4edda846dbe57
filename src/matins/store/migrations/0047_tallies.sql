-- What has happened in each minute, told by all processes: for the page, which may count no runs.
CREATE TABLE tallies (
    minute timestamptz PRIMARY KEY,
    claimed bigint NOT NULL,
    skipped bigint NOT NULL,
    missed bigint NOT NULL,
    started bigint NOT NULL,
    succeeded bigint NOT NULL,
    failed bigint NOT NULL,
    dead bigint NOT NULL,
    lags bigint[] NOT NULL
) WITH (fillfactor = 50);
