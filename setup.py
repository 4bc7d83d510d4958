"""Packaging metadata that pyproject.toml calls dynamic, read from settings.ini."""

import shlex
from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages, setup

ini = ConfigParser(delimiters=["="])
ini.read(Path(__file__).with_name("settings.ini"), encoding="utf-8")
cfg = ini["DEFAULT"]
lib = cfg["lib_path"]


def requirements(key):
    return shlex.split(cfg.get(key, ""))


extras = {
    key.removesuffix("_requirements"): requirements(key) for key in cfg if key.endswith("_requirements")
}
extras["all"] = sorted({r for rs in extras.values() for r in rs})

setup(
    version=cfg["version"],
    description=cfg["description"],
    keywords=cfg["keywords"].split(),
    author=cfg["author"],
    author_email=cfg["author_email"],
    url=cfg["git_url"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Legal Industry",
        "Framework :: Jupyter",
        "Programming Language :: Python :: 3",
    ],
    packages=find_packages(include=[lib, f"{lib}.*"]),
    install_requires=requirements("requirements"),
    extras_require=extras,
    entry_points={
        "nbdev": [f"{lib}={lib}._modidx:d"],  # lets `show_doc` and backticks find our symbols
        "console_scripts": requirements("console_scripts"),
    },
)
