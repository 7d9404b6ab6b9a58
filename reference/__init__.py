"""The reference pages of the documents, made from the code: ``python -m reference FOLDER``.

``mkdocs build`` makes them too, through :mod:`reference.hook`, so that they cannot be out of date.
"""
