"""Ways to call vLLM's own guard functions with nothing but the values they read.

These modules run only inside the Python that has vLLM (see ``runner.py``); kvdoctor itself never
imports them. They import vLLM late and by name, because modules and signatures move between
releases: a name that is not there means "gone in this build", not a failure.
"""
