"""One file per command: parse, call the library, render."""
