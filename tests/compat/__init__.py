"""What documents of others state, line by line; a package, so that its folders keep their names."""
