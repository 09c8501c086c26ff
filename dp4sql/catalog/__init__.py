"""What clients ask beside their queries, answered by an empty Postgres that knows the schema."""
