"""PostgreSQL: the SQL, the code that runs it, and the only importer of the driver."""
