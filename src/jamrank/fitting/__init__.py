"""The EM loop and what it is made of: Newton steps, priors, starts, convergence."""
