"""Problems of a document, as sentences for a person."""
