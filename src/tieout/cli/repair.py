import typer

app = typer.Typer(help="Makes a target equal to its source, and back.")


@app.command("plan")
def plan() -> None: ...
@app.command("apply")
def apply() -> None: ...
