"""What a launch command states, as values of a server of its own."""

from __future__ import annotations

from kvdoctor.values.command import Command, values_of
from kvdoctor.values.found import Found, Server
from kvdoctor.values.sides import side_in_name, side_of_role
from kvdoctor.values.table import Table
from kvdoctor.values.value import Value

RANK = 45  # behind what a log says it runs with


def command_server(command: Command, table: Table, order: int, side: str = "") -> Server:
    """What a command states, as a server of its own."""
    server = Server(order, side=side)
    listing = command.style == "list"
    for name, value, token in values_of(command):
        if name in table.flags.roles and value is True:
            server.side = server.side or table.flags.roles[name]
        if name == "disaggregation_mode":
            server.side = server.side or side_in_name(str(value))
        origin = "config" if listing else "command"
        if name[:1].isupper() and (listing or not name.startswith(table.environment)):
            continue  # the reader of manifests knows the lines of variables
        made = Value(name, value, origin, "this", command.line_of(token), why="launch command")
        server.found.append(Found(made, RANK))
    server.side = server.side or side_of_role(server.found, table.roles)
    return server
