"""The model that needs no key and no network: its file, how it is fetched, and the endpoint that runs it."""
