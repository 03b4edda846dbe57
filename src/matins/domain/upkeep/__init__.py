"""What the upkeep decides: of rows that went missing, retention, zone data, `delete_after`."""
