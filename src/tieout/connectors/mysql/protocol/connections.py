"""pymysql's connection and cursor, with what Tieout changes in them. Importing this imports pymysql."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pymysql.connections import Connection
from pymysql.cursors import Cursor

from tieout.connectors.sql.placeholders import with_names

if TYPE_CHECKING:
    _Connection = Connection[Any]
else:
    _Connection = Connection  # generic in its stubs only


class NamesCursor(Cursor):
    """A cursor whose statements may contain names of any content beside their %s."""

    def execute(self, query: str, args: Any = None) -> int:
        # With an empty list, too, the driver looks for %.
        return super().execute(query if args is None else with_names(query), args)


class WaryConnection(_Connection):
    """A connection whose first packet holds no password, whatever plugin the server's greeting names.

    pymysql sends the password there if the plugin is sha256_password and there is TLS, before it calls any handler. A
    client may start with a plugin of its own choice: a server whose account has another one says so.
    """

    _auth_plugin_name: str

    def _get_server_information(self) -> None:
        super()._get_server_information()  # type: ignore[misc]
        if self._auth_plugin_name == "sha256_password":
            self._auth_plugin_name = "caching_sha2_password"
