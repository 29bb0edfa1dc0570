"""What runs beside a candidate: its services, and commands before and after each trial."""
