-- concurrently
-- The jobs that name a concurrency key, whose lowest limit counts.
CREATE INDEX CONCURRENTLY IF NOT EXISTS jobs_key ON jobs (team_id, (spec #>> '{concurrency,key}'))
    WHERE spec #>> '{concurrency,key}' IS NOT NULL AND state <> 'deleted';
