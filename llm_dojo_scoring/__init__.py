"""Score what language models extract from legal documents. A name loads its module when it is first used."""

__version__ = "0.8.0"

import importlib

_MODULES = {
    "config": "Settings clear_settings_cache configure get_settings load_settings settings",
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names.split()}
_SUBMODULES = ("core", "vocab", "config")

__all__ = ["__version__", *_SUBMODULES, *_WHERE]


def __getattr__(name):
    if name in _WHERE:
        value = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    elif name in _SUBMODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
