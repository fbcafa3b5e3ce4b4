"""Loaders compared on this machine; see bench/README.md."""
