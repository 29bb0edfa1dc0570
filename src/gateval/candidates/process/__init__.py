"""Programs of candidates: started, fed, watched, ended, and what to say when they fail."""
