-- A window's reason is what its owner gives. Processes of the version before do not know that name:
-- stop them first.
ALTER TABLE windows RENAME COLUMN why TO reason;
