"""The keeper: a process that runs commands, and outlives an executor that is frozen or killed."""
