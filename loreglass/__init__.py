"""The one name in site-packages. In a wheel the repository's folders lie in here, in `packages`."""
