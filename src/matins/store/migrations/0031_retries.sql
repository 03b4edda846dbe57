-- One attempt has become what a job gets that calls a command and does not say it; it was three. Jobs
-- that are there keep what they had, written out; so do their revisions, for who goes back to one.
-- HTTP targets still have three. What can't be read is left as it is.
UPDATE jobs
SET spec = jsonb_set(spec, '{retry}', '{"attempts": 3}' || coalesce(spec -> 'retry', '{}'))
WHERE jsonb_typeof(spec) = 'object'
  AND jsonb_typeof(spec -> 'target') = 'object'
  AND NOT spec -> 'target' ? 'http'
  AND jsonb_typeof(coalesce(spec -> 'retry', '{}')) = 'object';

UPDATE revisions
SET spec = jsonb_set(spec, '{retry}', '{"attempts": 3}' || coalesce(spec -> 'retry', '{}'))
WHERE jsonb_typeof(spec) = 'object'
  AND jsonb_typeof(spec -> 'target') = 'object'
  AND NOT spec -> 'target' ? 'http'
  AND jsonb_typeof(coalesce(spec -> 'retry', '{}')) = 'object';
