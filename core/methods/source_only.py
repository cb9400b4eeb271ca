"""Source only: cross-entropy with true labels and no adaptation, what adaptation is measured against."""

from core.methods.supervised import Supervised


class SourceOnly(Supervised):
    """`Supervised` without an adaptation term is the whole of it."""
