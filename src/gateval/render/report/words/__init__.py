"""Words that all views of a report share: counts, headlines, sentences, cuts."""
