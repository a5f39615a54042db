"""The API, a file for each subject; each has a `router`."""
