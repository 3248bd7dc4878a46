"""The EM loop and its parts: Newton steps, priors, initial values, convergence."""
