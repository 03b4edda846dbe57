"""The web page: what owners and operators look at, on the reads and deeds of the API."""
