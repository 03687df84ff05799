"""The sections of a suite, one module each: model, short forms and checks."""
