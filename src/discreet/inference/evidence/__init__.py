"""What was released, as a sampler reads it: the statistic of each query and the density of each law."""
