"""dp4sql beside other systems that answer SQL with differential privacy, on one machine in one run."""
