"""The slow work on which no claim depends: healing, retention, zone data, `delete_after`."""
