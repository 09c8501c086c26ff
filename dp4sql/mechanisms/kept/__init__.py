"""Releases that are kept and shown again at no price.

shelf    the way in: the releases of one statement that are kept already, and those that it adds
stored   what identifies a release, and an exact text for it
derived  what follows from a release that is kept: some of its groups, or sums over them
"""
