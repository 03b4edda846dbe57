-- Loading goes page by page through what fires in each partition, of which much can at one instant.
CREATE INDEX jobs_fires ON jobs (partition, next_fire_at, id) WHERE next_fire_at IS NOT NULL;
DROP INDEX jobs_due;
