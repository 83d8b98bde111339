"""The base of every Loreglass app, without knowledge of its domain."""
