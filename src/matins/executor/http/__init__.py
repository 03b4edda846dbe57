"""The answers of HTTP targets, read as they come and kept within bounds."""
