"""What `promote` and `challenge` do: records and objections become files."""
