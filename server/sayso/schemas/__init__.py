"""JSON Schemas: made from types, checked, and held against values. Pure."""
