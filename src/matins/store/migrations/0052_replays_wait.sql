-- `awaits_replay`: whether a run that was dead is to be replayed, and was not admitted since. So it minds
-- the other runs of its job, and they don't mind it. NULL: it was never replayed, or before this.
ALTER TABLE runs ADD COLUMN awaits_replay boolean;
ALTER TABLE past_runs ADD COLUMN awaits_replay boolean;
ALTER TABLE kept_runs ADD COLUMN awaits_replay boolean;

CREATE OR REPLACE VIEW all_runs AS
SELECT * FROM runs
UNION ALL
SELECT * FROM past_runs
UNION ALL
SELECT * FROM kept_runs;
