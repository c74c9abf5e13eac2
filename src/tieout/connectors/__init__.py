"""One folder for each kind of endpoint, behind the protocols of `base`."""
