"""What is only of use in a notebook: a panel to search from, and magics. Loaded when first used."""
