"""The methods by name. This module holds their specifications only, so that listings and forms need no torch."""

from core.methods.registry import METHODS, MethodSpec, StageSpec, find_method, methods

__all__ = ["METHODS", "MethodSpec", "StageSpec", "find_method", "methods"]
