-- The reason of an override has the name that reasons have everywhere. In the text of a jsonb value,
-- a quotation mark within a string has a backslash before it, so this is the name of a field.
-- Processes of the version before do not know the new name: stop them first.
UPDATE jobs
SET overrides = replace(overrides::text, '"why":', '"reason":')::jsonb
WHERE overrides::text LIKE '%"why":%';
UPDATE revisions
SET overrides = replace(overrides::text, '"why":', '"reason":')::jsonb
WHERE overrides::text LIKE '%"why":%';
