"""Speed of jamrank, as ratios against rivals and plain twins in the same run."""
