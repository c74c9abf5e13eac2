"""What reaches into the insides of pymysql: logging in, packets, and commands that it does not offer."""
