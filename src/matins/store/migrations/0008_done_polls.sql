-- Which polls of an executor can get nothing more, as its heartbeats have told: all below the number of
-- its next one, but for those that are awaited or open. A few ranges, however many polls there were.
-- `first_seq` and the empty rows of `handouts` said it before; processes of the version before still
-- write and read them.
ALTER TABLE executors ADD COLUMN done_polls int8multirange NOT NULL DEFAULT '{}';
