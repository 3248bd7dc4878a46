"""Linear algebra on comparison graphs: Laplacians, marginal variances, the joint information matrix."""
