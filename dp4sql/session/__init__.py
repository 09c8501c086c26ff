"""One client's session: its statements, portals, transaction and settings."""
