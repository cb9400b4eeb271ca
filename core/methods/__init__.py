"""The methods by name. This package root holds specifications only, so that listings and forms need no torch."""

from core.methods.registry import FAMILIES, METHODS, STAGE1_VERSION, Family, MethodSpec, StageSpec, find_method, methods

__all__ = ["FAMILIES", "METHODS", "STAGE1_VERSION", "Family", "MethodSpec", "StageSpec", "find_method", "methods"]
