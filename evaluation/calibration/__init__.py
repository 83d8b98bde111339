"""Which thresholds to refuse by: chosen on one run, with a promise that another run can check."""
