-- What operators were told of each finding, so that of several APIs one tells it. A row for each kind and
-- subject. Who has taken the last turn tells it, until `taken_until`; at `told_at` that was done. An API
-- found it last at `seen_at`.
CREATE TABLE told_findings (
    kind text NOT NULL,
    subject text NOT NULL,
    is_bad boolean NOT NULL,
    turned_at timestamptz NOT NULL,
    reason text NOT NULL,
    seen_at timestamptz NOT NULL,
    taken_until timestamptz NOT NULL,
    told_at timestamptz,
    PRIMARY KEY (kind, subject)
);
