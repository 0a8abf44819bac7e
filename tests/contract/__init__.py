"""Protocol rules: the manifest, and the tests that cite it."""
