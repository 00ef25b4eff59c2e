"""Every sweep that ships, and the functions that compute its cells: a package a chapter. How results ship, too.

:func:`.shipped.result` gives what ships, a part of a larger grid too, or else computes it; :func:`.shipped.publish`
makes what ships, :func:`.verification.verify` checks it, and :mod:`.policy` says how far numbers may be
off.
"""
