"""Calls from Java into this process, for Java alone.

A stream hands its batches to Python through a port of this machine. pyspark lets anyone call there: when it tells Java
which port it is, py4j's copy of the client loses the token that both sides have (PythonClient.copyWith).
"""

from __future__ import annotations

from typing import Any

from py4j.clientserver import ClientServer
from py4j.java_gateway import JavaObject
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started

_CLIENT = "cbClient"


def guard_callbacks() -> None:
    """From now on a call has to come with the token of the session's own connection."""
    gateway = SparkContext._gateway
    # Of other kinds are gateways that a platform made for its users; it answers for them.
    if not isinstance(gateway, ClientServer) or gateway.python_parameters.auth_token is not None:
        return
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    token = gateway.java_parameters.auth_token
    if token is None:
        return
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    _set_client(gateway, server, _client(gateway, server, token))
    gateway.python_parameters.auth_token = token


def _client(gateway: Any, server: Any, token: str) -> Any:
    """As py4j made the one that it has, with the token."""
    java, known = gateway.jvm, server.getCallbackClient()
    seconds = java.java.util.concurrent.TimeUnit.SECONDS
    factory = java.javax.net.SocketFactory.getDefault()
    place = known.getPort(), known.getAddress()
    rest = server, known.isMemoryManagementEnabled(), known.getReadTimeout(), token
    return java.py4j.PythonClient(server.getGateway(), server.getCustomCommands(), *place, 30, seconds, factory, *rest)


def _set_client(gateway: Any, server: Any, client: Any) -> None:
    field = server.getGateway().getClass().getDeclaredField(_CLIENT)
    field.setAccessible(True)
    field.set(server.getGateway(), client)
