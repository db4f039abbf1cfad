"""The version of the package, in the one place that everything else reads."""

VERSION = "0.1.0"
