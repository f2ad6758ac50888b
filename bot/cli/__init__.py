"""The commands of the program, one module for each group; bot/__main__.py runs them."""
