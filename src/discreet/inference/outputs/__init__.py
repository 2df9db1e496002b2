"""What a posterior gives: draws, tables, diagnostics, pictures, files, and what a naive analysis would say."""
