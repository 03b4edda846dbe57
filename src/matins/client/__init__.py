"""The SDK for owners, and the executor's link to its gateways."""
