"""What is wrong with a document, as sentences for a person."""
