-- Which executors have ended and hold nothing any more: whoever looks for what ended ones still hold
-- passes them by, however many there have been.
ALTER TABLE executors ADD COLUMN is_empty boolean NOT NULL DEFAULT false;
CREATE INDEX executors_to_empty ON executors (id) WHERE ended_at IS NOT NULL AND NOT is_empty;
