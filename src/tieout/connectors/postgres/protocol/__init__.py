"""What reaches below psycopg's documented interface: libpq's own calls, and the server's messages on the socket."""
