"""The exit codes by which processes and their launcher understand each other."""

from __future__ import annotations

LOST_EXIT = 71
"""A process that stops because another was lost."""
AGAIN_EXIT = 75
"""A program that was asked to stop, has saved, and wants to be started again."""
