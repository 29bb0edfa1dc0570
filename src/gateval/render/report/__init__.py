"""What all views share: facts of a report, their wording, and the templates' engine."""
