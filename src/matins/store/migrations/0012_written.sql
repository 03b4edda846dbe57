-- The transaction that wrote a revision: a change can be committed long after it read the clock, and
-- is then found by what was still under way at the poll before. In the order of their beginnings.
ALTER TABLE revisions
    ADD COLUMN written_in bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint;

CREATE INDEX revisions_written ON revisions (written_in);
