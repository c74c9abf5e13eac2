"""MariaDB, MySQL and TiDB."""
