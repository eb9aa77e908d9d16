"""Files as Portico opens them: regular, of bounded size, and beneath the folder they belong to."""
