"""``python -m jamrank`` is ``jamrank``."""

from jamrank.cli import main

if __name__ == "__main__":
    main(prog_name="jamrank")
