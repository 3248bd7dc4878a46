"""People vote in a browser: a voting page for judges, an admin page for whoever runs the study, a worker that chooses pairs."""
