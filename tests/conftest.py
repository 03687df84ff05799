import os

from hypothesis import settings

THOROUGH = os.environ.get("PLMETRICS_SLOW") == "1"

settings.register_profile("plmetrics", deadline=None, derandomize=True, max_examples=200 if THOROUGH else 15)
settings.load_profile("plmetrics")
