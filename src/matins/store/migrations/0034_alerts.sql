-- Alerts: who is told, what is watched, how it stands, and the messages on their way. See
-- docs/decisions/0026-alerts.md. Times come from statements (rule 5 of the design).

-- Where a team is told. `sealed` holds the URL and the keys, encrypted.
-- `taken_until`: somebody sends to it. `failing_since`: nothing has arrived since.
CREATE TABLE channels (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team_id integer NOT NULL REFERENCES teams,
    name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('webhook', 'apprise')),
    scheme text NOT NULL,
    sealed text NOT NULL,
    made_at timestamptz NOT NULL,
    taken_until timestamptz,
    delivered_at timestamptz,
    failing_since timestamptz,
    failure text NOT NULL DEFAULT '',
    UNIQUE (team_id, name)
);

CREATE INDEX channels_failing ON channels (failing_since) WHERE failing_since IS NOT NULL;

-- Rules of a team, for its jobs that have these labels.
CREATE TABLE alert_rules (
    team_id integer NOT NULL REFERENCES teams,
    name text NOT NULL,
    labels jsonb NOT NULL,
    rules jsonb NOT NULL,
    PRIMARY KEY (team_id, name)
);

-- A row for each job of a team that has a channel: when it is to be looked at again, and what was
-- learned when it was looked at last.
CREATE TABLE watches (
    job_id uuid PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    team_id integer NOT NULL REFERENCES teams,
    look_at timestamptz NOT NULL,
    looked_at timestamptz,
    -- what died before nobody is told of
    made_at timestamptz NOT NULL,
    -- since when a success can be expected: it is watched, or was resumed
    expect_from timestamptz NOT NULL,
    succeeded_at timestamptz,
    took_s float8 NOT NULL DEFAULT 0,
    revision integer NOT NULL DEFAULT 0,
    was_active boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);

CREATE INDEX watches_due ON watches (look_at);
CREATE INDEX watches_team ON watches (team_id);

-- Up to when changed jobs and dead runs have woken their watches.
CREATE TABLE alert_looks (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    woken_until timestamptz NOT NULL
);

INSERT INTO alert_looks (woken_until) VALUES (clock_timestamp());

-- How a job stands by a rule, and what its owner was told of it last.
CREATE TABLE alerts (
    job_id uuid NOT NULL REFERENCES jobs ON DELETE CASCADE,
    rule text NOT NULL,
    team_id integer NOT NULL REFERENCES teams,
    is_bad boolean NOT NULL,
    told boolean NOT NULL,
    since timestamptz NOT NULL,
    why text NOT NULL,
    run_id uuid,
    standing jsonb NOT NULL,
    PRIMARY KEY (job_id, rule)
);

CREATE INDEX alerts_open ON alerts (team_id, since) WHERE told;

-- The outbox: messages to channels. While one `is_open`, more is gathered into it. `tries` are all
-- of its tries. `send_at`: when it is tried next.
CREATE TABLE deliveries (
    id uuid PRIMARY KEY,
    channel_id integer NOT NULL REFERENCES channels ON DELETE CASCADE,
    team_id integer NOT NULL REFERENCES teams,
    kind text NOT NULL CHECK (kind IN ('bad', 'well', 'still', 'test')),
    state text NOT NULL CHECK (state IN ('waiting', 'delivered', 'given_up')),
    made_at timestamptz NOT NULL,
    send_at timestamptz NOT NULL,
    ended_at timestamptz,
    is_open boolean NOT NULL,
    tries jsonb NOT NULL DEFAULT '[]',
    CHECK ((state = 'waiting') = (ended_at IS NULL))
);

CREATE UNIQUE INDEX deliveries_open ON deliveries (channel_id, kind) WHERE is_open;
CREATE INDEX deliveries_due ON deliveries (send_at) WHERE state = 'waiting';
CREATE INDEX deliveries_of_team ON deliveries (team_id, made_at);
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE ended_at IS NOT NULL;

-- What a message is about: one edge of one job. An edge is told to a channel once.
CREATE TABLE notices (
    channel_id integer NOT NULL REFERENCES channels ON DELETE CASCADE,
    edge_id uuid NOT NULL,
    delivery_id uuid NOT NULL REFERENCES deliveries ON DELETE CASCADE,
    job_id uuid NOT NULL,
    rule text NOT NULL,
    turn text NOT NULL CHECK (turn IN ('bad', 'well', 'still', 'flapping')),
    at timestamptz NOT NULL,
    since timestamptz NOT NULL,
    why text NOT NULL,
    run_id uuid,
    PRIMARY KEY (channel_id, edge_id)
);

CREATE INDEX notices_delivery ON notices (delivery_id, at);
CREATE INDEX notices_job ON notices (job_id, at);

-- What died of a team since the last look.
CREATE INDEX dead_letters_team ON dead_letters (team_id, dead_at);
