"""Pictures that the project draws itself, to train the codebook, the PCA and the calibration."""
