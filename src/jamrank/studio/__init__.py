"""People vote in a browser: a voting page for judges, an admin page for the organiser, a worker that chooses."""
