"""Commands of the `portico` program, one file each: arguments in, text out."""
