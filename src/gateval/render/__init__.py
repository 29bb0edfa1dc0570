"""What people and machines read: each view is a pure function of a plan or a report.

Views only show what `domain` decided. Whatever they show passes `sanitize`.
"""
