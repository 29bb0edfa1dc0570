"""Records kept in git: the audit branch and the refs of the gate, read and appended."""
