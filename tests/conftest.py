"""What holds for every test."""

from hypothesis import settings

# How long an example takes says nothing on a machine that others use too.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")
