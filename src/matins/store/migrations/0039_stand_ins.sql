-- `replay_of`: the dead run for which a manual run stands, with another input.
ALTER TABLE runs ADD COLUMN replay_of uuid;
ALTER TABLE past_runs ADD COLUMN replay_of uuid;
ALTER TABLE kept_runs ADD COLUMN replay_of uuid;

CREATE OR REPLACE VIEW all_runs AS
SELECT * FROM runs
UNION ALL
SELECT * FROM past_runs
UNION ALL
SELECT * FROM kept_runs;

-- The run that stands for that of the letter, which closes it.
ALTER TABLE dead_letters ADD COLUMN replayed_as uuid;
