"""The ledger: slots a day, one active run and a bounded history, changed by compare-and-swap.

``state`` is what is stored, ``rules`` decide purely, ``days`` say what a day is, ``book``
reads and swaps. A reservation never expires: a dead holder blocks until a person clears it.
"""
