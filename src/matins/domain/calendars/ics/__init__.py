"""iCalendar files (RFC 5545), read into the dates and spans of a calendar."""
