"""What models ask of a table, each with how far one person moves it."""
