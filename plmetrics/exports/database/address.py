"""Addresses of databases: their admissible forms, and their texts in messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import ConfigError, Problem, needs_extra
from plmetrics.exports.protocol import output_path
from plmetrics.table.database.drivers import address_error

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

    from plmetrics.suite.yaml.load import LoadedSuite

_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
    "sqlite": "sqlite",
}
_EXAMPLE = "write an address such as postgresql://user:password@host/name, or sqlite:///metrics.db"
_PATH = ("output", "database")
_TIMEOUT = 10
_PATIENCE = 30


def read_address(loaded: LoadedSuite, text: str) -> URL:
    """The address of a database, with a driver; a file of SQLite is relative to the suite's folder.

    Raises:
        ConfigError: it is none, or of a database that is not supported. Nothing of the text is in the message, as it
            may hold a password.
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise address_error(_PATH, _EXAMPLE) from None
    backend = url.get_backend_name()
    if backend not in _DRIVERS:
        msg = "the database must be PostgreSQL, MariaDB, MySQL or SQLite"
        raise ConfigError(Problem(msg, _PATH, _EXAMPLE))
    if "+" not in url.drivername:
        url = url.set(drivername=_DRIVERS[backend])
    if backend != "sqlite":
        return url
    if not url.database or url.database.startswith((":", "file:")):
        raise ConfigError(Problem("the database must be a file", _PATH, "write sqlite:///metrics.db"))
    return url.set(database=str(output_path(loaded, url.database, _PATH)))


def open_engine(url: URL) -> Engine:
    """Engine with a connection per use, and no open one otherwise.

    Raises:
        EnvironmentFault: the driver is not installed.
    """
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    sqlite = url.get_backend_name() == "sqlite"
    patience = {"timeout": _PATIENCE} if sqlite else {"connect_timeout": _TIMEOUT}
    arguments: dict[str, Any] = {key: value for key, value in patience.items() if key not in url.query}
    with needs_extra("database", "writing to a database"):
        return create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=arguments)


def shown_address(url: URL) -> str:
    """An address without driver, password and options."""
    return url.set(drivername=url.get_backend_name(), query={}).render_as_string(hide_password=True)


def driver_words(url: URL, error: BaseException) -> str:
    """Message of a driver on one line, without the password."""
    text = " ".join(str(error).split())
    password = str(url.password or "")
    return text.replace(password, "***") if password else text
