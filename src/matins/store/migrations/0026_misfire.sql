-- `last`, of any age, has become the misfire policy of a job that names none. Jobs that are there keep
-- what they had, written out, so that no run of theirs goes missing by an upgrade; so do their
-- revisions, for who goes back to one. What can't be read is left as it is.
UPDATE jobs
SET misfire = '{"policy": "all", "max_age": "1d"}' || misfire,
    spec = jsonb_set(
        spec, '{misfire}', '{"policy": "all", "max_age": "1d"}' || coalesce(spec -> 'misfire', '{}')
    )
WHERE jsonb_typeof(misfire) = 'object'
  AND jsonb_typeof(spec) = 'object'
  AND jsonb_typeof(coalesce(spec -> 'misfire', '{}')) = 'object';

UPDATE revisions
SET spec = jsonb_set(
        spec, '{misfire}', '{"policy": "all", "max_age": "1d"}' || coalesce(spec -> 'misfire', '{}')
    )
WHERE jsonb_typeof(spec) = 'object'
  AND jsonb_typeof(coalesce(spec -> 'misfire', '{}')) = 'object';
