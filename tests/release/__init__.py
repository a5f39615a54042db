"""The check of a release (`make release`): build, compare, install into an empty environment, run the demo.

archives      the wheel and the source distribution: building them, and what is in them
installation  an empty virtual environment, and the demo in it
"""
