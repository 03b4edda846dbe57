"""The owners' HTTP API: handlers, authentication, errors, and its description in OpenAPI."""
