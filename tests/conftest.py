from hypothesis import settings

settings.register_profile("plmetrics", deadline=None, derandomize=True)
settings.load_profile("plmetrics")
