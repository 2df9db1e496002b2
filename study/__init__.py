"""What takes hours: coverage, levels, fuzzing and kills. Every study can be stopped and goes on where it was."""
