"""The tables of the SQL manifest."""

from typing import Any

import sqlalchemy as sa

SCHEMA_VERSION = 1
# Any number will do, as long as every maker of this schema takes the same.
_SCHEMA_LOCK = 0x5CE4E305A1C

metadata = sa.MetaData()
# Sort keys compare byte by byte, which is not PostgreSQL's default.
_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

schema = sa.Table(
    "manifest_schema",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
)
rows = sa.Table(
    "manifest_rows",
    metadata,
    sa.Column("job_id", _KEY, primary_key=True),
    sa.Column("window", _KEY, primary_key=True, quote=True),
    sa.Column("output_uri", sa.Text, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("sha256", sa.Text),
    sa.Column("etag", sa.Text, nullable=False),
    sa.Column("version_id", sa.Text),
    sa.Column("blocks", sa.LargeBinary),
    sa.Column("crc", sa.Text, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("written_by", sa.Text, nullable=False),
    sa.Column("written_at", sa.Text, nullable=False),
    sa.Column("software", sa.Text, nullable=False),
    sa.Column("waiver", sa.Text),
)


def insert_if_absent(dialect: str, values: dict[str, Any]) -> sa.Executable:
    """INSERT … ON CONFLICT DO NOTHING for SQLite and PostgreSQL; its rowcount says who won."""
    statement: sa.Insert
    if dialect == "sqlite":
        from sqlalchemy.dialects import sqlite

        statement = sqlite.insert(rows).values(values).on_conflict_do_nothing()
    else:  # its import takes as long as a hundred rows of SQLite
        from sqlalchemy.dialects import postgresql

        statement = postgresql.insert(rows).values(values).on_conflict_do_nothing()
    # Without it SQLAlchemy answers -1 for an INSERT on PostgreSQL.
    return statement.execution_options(preserve_rowcount=True)


def is_old(connection: sa.Connection) -> bool:
    """Whether an earlier version made the table of rows."""
    try:
        found = sa.inspect(connection).get_columns(rows.name)
    except sa.exc.NoSuchTableError:
        return False
    return all(column["name"] != "waiver" for column in found)


def add_what_is_missing(connection: sa.Connection) -> None:
    """Add the column that earlier versions did not know; their rows have NULL there."""
    connection.exec_driver_sql("ALTER TABLE manifest_rows ADD COLUMN waiver TEXT")


def lock_for_making(connection: sa.Connection) -> None:
    """Let one maker in at a time: PostgreSQL's IF NOT EXISTS fails where two of them race."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SCHEMA_LOCK)))
