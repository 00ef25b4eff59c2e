"""Train many small networks: specs with labelled numbers in, load curves with the same labels out.

A name is imported from its module when it is first asked for; their list is ``__init__.pyi``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
