"""Text and JSON that strangers wrote: read strictly, cut, quoted, and searched for secrets."""
