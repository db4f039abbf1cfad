"""Which timeline can have written what: entries of a lorebook that several timelines wrote into, told apart.

``witnesses`` gathers who speaks of an entry, ``splitting`` decides who gets it, ``isolation`` makes a book of that, and
``origins`` reports it. ``kinship`` says which timelines are related.
"""
