"""``python -m forklore`` is the command ``forklore``."""

from forklore.cli.main import main

if __name__ == "__main__":
    main()
