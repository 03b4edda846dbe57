"""Values that know no job: names, ids, durations, errors, and how they are read."""
