"""The bounded language of templates: in requests to candidates, and in fixtures with cases."""
