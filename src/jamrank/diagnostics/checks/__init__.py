"""The health checks, one function each: an examination in, a :class:`CheckResult` out."""
