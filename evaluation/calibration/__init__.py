"""Choose thresholds for refusals on one run, with a promise that another run can check."""
