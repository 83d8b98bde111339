"""What every Loreglass app is built on: nothing here knows what the apps are about."""
