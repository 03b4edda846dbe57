-- The field's own words for columns. Processes of the version before do not know these names: stop
-- them first.
ALTER TABLE jobs RENAME COLUMN exemptions TO overrides;
ALTER TABLE revisions RENAME COLUMN exemptions TO overrides;
ALTER TABLE executors RENAME COLUMN first_beat_at TO first_heartbeat_at;
ALTER TABLE executors RENAME COLUMN beat_at TO heartbeat_at;
