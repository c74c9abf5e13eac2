"""Changes rows for a repair: what the writers of SQL engines share."""

from __future__ import annotations

from tieout.connectors.protocols.repair import Refused, Statements
from tieout.connectors.sql.session import SqlSession


class SqlWriter:
    """Transactions on a session whose purpose is REPAIR. An engine adds `exact`, `references` and `rows`."""

    def __init__(self, session: SqlSession, statements: Statements) -> None:
        self.session = session
        self.statements = statements

    def begin(self, *, deferred: bool = False) -> None:
        self.session.begin()

    def execute(self, statement: str) -> int:
        """Runs one statement in a savepoint: if the server refuses it, the transaction is as it was before."""
        self.session.execute("SAVEPOINT tieout")
        try:
            return self.session.execute(statement)
        except Refused:
            self.session.execute("ROLLBACK TO SAVEPOINT tieout")
            raise

    def commit(self) -> None:
        self.session.commit()

    def rollback(self) -> None:
        """Never raises: a connection that is gone has rolled back."""
        self.session.rollback()

    def close(self) -> None:
        self.session.close()
