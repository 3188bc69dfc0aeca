"""Adapters for trainers, each imported by itself. None imports its trainer."""
