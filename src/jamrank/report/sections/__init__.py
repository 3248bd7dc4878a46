"""The sections of the page, one file each; registered in :mod:`jamrank.report.registry`."""
