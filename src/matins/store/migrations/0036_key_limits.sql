-- concurrently
-- The jobs that name a concurrency key, by their limits: the lowest counts.
CREATE INDEX CONCURRENTLY IF NOT EXISTS jobs_key_limit
    ON jobs (team_id, (spec #>> '{concurrency,key}'), ((spec #>> '{concurrency,limit}')::integer))
    WHERE spec #>> '{concurrency,key}' IS NOT NULL AND state <> 'deleted';
-- The same by their rates: the one with the longest time between two starts counts.
CREATE INDEX CONCURRENTLY IF NOT EXISTS jobs_key_rate
    ON jobs (team_id, (spec #>> '{concurrency,key}'), (rate_spacing(spec #>> '{concurrency,rate}')))
    WHERE spec #>> '{concurrency,rate}' IS NOT NULL AND state <> 'deleted';
DROP INDEX CONCURRENTLY IF EXISTS jobs_key;
