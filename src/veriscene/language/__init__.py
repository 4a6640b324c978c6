"""The program language; other packages use it through `meaning.program` and `meaning.notation`."""
