"""HTTP: the app of every service, what one says to another, files and photos fetched over the net."""
