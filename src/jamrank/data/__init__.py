"""The votes: ids as codes, the frozen table of comparisons, pairs of known truth."""
