"""Decode PTX instructions into typed operations."""
