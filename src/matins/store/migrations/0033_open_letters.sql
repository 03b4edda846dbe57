-- The dead letters that nobody has closed are counted every few seconds.
CREATE INDEX dead_letters_open ON dead_letters (team_id) WHERE dismissed_at IS NULL;
