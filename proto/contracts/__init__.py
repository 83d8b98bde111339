"""The wire contracts: the only Python spelling of `proto/loreglass/v1/*.proto`."""
