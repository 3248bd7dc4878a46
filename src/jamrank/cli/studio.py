"""``jamrank studio``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jamrank.cli.messages import lines
from jamrank.errors import ParameterError
from jamrank.text import safe_line, safe_text

_MISSING = "the studio needs more packages; install them with pip install 'jamrank[studio]'"


class _Studio(click.Group):
    """A group whose first argument is a command, or else the items to serve."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if (args and args[0] in ("-h", "--help")) or not args or args[0] not in self.commands:
            args = ["serve", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Studio, context_settings={"help_option_names": ["-h", "--help"]})
def studio() -> None:
    """Let people vote in a browser."""


@studio.command(
    epilog="""\b
Examples:
  jamrank studio photos/
  jamrank studio items.csv --study study.toml
  jamrank studio study.toml
  jamrank studio --demo
  jamrank studio items.csv --host 192.168.1.20 --judges 30
  jamrank studio items.csv --url https://study.example.org --proxy --database postgresql://user@host/db --processes 4
  jamrank studio backup items.studio.sqlite copy.sqlite
  jamrank studio invite items.studio.sqlite --names judges.txt --url https://study.example.org

The same command continues a study."""
)
@click.argument("items", required=False)
@click.option("--study", metavar="FILE", help="Settings of the study, TOML: question, criteria, ties, gold pairs …")
@click.option("--database", metavar="WHERE", help="SQLite file or postgresql:// URL; NAME.studio.sqlite by default.")
@click.option("--demo", is_flag=True, help="Try it with handwritten digits.")
@click.option(
    "--judges",
    default=20,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="Maximum number of judges on the open link.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 for any.")
@click.option("--url", metavar="URL", help="Address for judges if it is not host and port, such as that of a proxy.")
@click.option("--proxy", is_flag=True, help="Requests come through an https proxy on this machine.")
@click.option("--processes", default=1, show_default=True, type=click.IntRange(1, 64), help="Server processes.")
@click.option("--password", is_flag=True, help="Ask for an admin password (or set JAMRANK_STUDIO_PASSWORD).")
@click.option("--no-browser", is_flag=True, help="Do not open the admin page.")
@click.option("--log", "log", is_flag=True, help="Log every request to standard error, as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def serve(
    items: str | None,
    study: str | None,
    database: str | None,
    demo: bool,
    judges: int,
    host: str,
    port: int,
    url: str | None,
    proxy: bool,
    processes: int,
    password: bool,
    no_browser: bool,
    log: bool,
    quiet: bool,
) -> None:
    """Start a study on ITEMS: a table (CSV, JSON, Parquet), a folder of files, or a TOML file of settings.

    Prints a link to the admin page and one for judges. Votes are kept in one SQLite file, or in PostgreSQL.
    """
    require_studio()
    from jamrank.studio import serve as serving
    from jamrank.studio.setup import open_study, read_material, start

    if items is not None and items.endswith(".toml") and study is None:
        items, study = None, items
    where = database or _default_database(items, study, demo)
    if processes > 1 and "://" not in where:
        raise ParameterError(
            "--processes needs PostgreSQL (--database postgresql://…); SQLite has one server process"
        )
    if demo:
        from jamrank.studio.demo import demo_material

        material = demo_material(Path("jamrank-studio-demo"))
    else:
        material = read_material(Path(items) if items else None, Path(study) if study else None)
    address = _checked_url(url, host)
    opened = serving.listen(host, port)
    address = address or f"http://{f'[{host}]' if ':' in host else host}:{opened.getsockname()[1]}"
    engine = open_study(where, create=bool(material.items))
    links = start(engine, material, address, judges=judges, password=_password(password))
    engine.dispose()
    options = serving.Options(where, links.media, address, (host,), processes, proxy, quiet=not log)

    def ready() -> None:
        if not quiet:
            lines(f"Admin page  {links.admin}\nJudges      {links.judges}  (for up to {judges})")
            kept = f"votes are kept in {_shown(where)}"
            lines(f"{links.n_items} items; {kept}. Ctrl-C stops; restart to continue.")
        if not no_browser and not quiet:
            import webbrowser

            webbrowser.open_new_tab(links.admin)

    serving.serve(options, opened, ready)


@studio.command()
@click.argument("database")
@click.argument("copy")
def backup(database: str, copy: str) -> None:
    """Copy a study, while it runs, from DATABASE to the SQLite file COPY."""
    require_studio()
    from jamrank.studio.backup import back_up

    n_events = back_up(database, Path(copy))
    lines(f"{copy}: {n_events:,} events copied")


@studio.command()
@click.argument("database")
@click.option("--names", metavar="FILE", help="File of names, one per line; each gets a link.")
@click.option(
    "--count", default=1, show_default=True, type=click.IntRange(1, 100_000), help="Number of links without names."
)
@click.option("--url", default="http://127.0.0.1:8000", show_default=True, help="Address of the study for judges.")
def invite(database: str, names: str | None, count: int, url: str) -> None:
    """Print secret links, one per judge; they are not stored anywhere else."""
    require_studio()
    from jamrank.collect.database import writing
    from jamrank.studio.people import invite_judge
    from jamrank.studio.setup import open_study

    wanted = [""] * count
    if names is not None:
        with click.open_file(names, encoding="utf-8") as file:
            wanted = [line.strip() for line in file if line.strip()]
    engine = open_study(database, create=False)
    with writing(engine) as connection:
        made = [(name, *invite_judge(connection, name)) for name in wanted]
    for name, judge, token in made:
        click.echo(f"{safe_text(name or judge)}\t{safe_line(url.rstrip('/'))}/join/{token}")


def require_studio() -> None:
    """Say what to install if something is missing."""
    try:
        import jinja2  # noqa: F401
        import markdown_it  # noqa: F401
        import nh3  # noqa: F401
        import sqlalchemy  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise ParameterError(_MISSING) from None


def _default_database(items: str | None, study: str | None, demo: bool) -> str:
    if demo:
        return "jamrank-studio-demo.sqlite"
    named = items or study
    if named is None:
        raise ParameterError("name a table or folder of items, a study file, or --database of an existing study")
    return f"{Path(named).resolve().stem}.studio.sqlite"


def _checked_url(url: str | None, host: str) -> str | None:
    from urllib.parse import urlsplit

    if url is None:
        if host in ("0.0.0.0", "::", ""):
            raise ParameterError(f"--host {host} listens on all addresses; give the one for judges with --url")
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ParameterError(f"--url is {url!r}; expected http://host or https://host, without a path")
    return url.rstrip("/")


def _password(asked: bool) -> str:
    import os

    given = os.environ.get("JAMRANK_STUDIO_PASSWORD", "")
    password: str = click.prompt("Admin password", hide_input=True, confirmation_prompt=True) if asked else given
    if password and len(password) < 10:
        raise ParameterError("the admin password has fewer than 10 characters; choose a longer one")
    return password


def _shown(where: str) -> Any:
    from jamrank.collect.database import locate, safe_name

    return safe_name(locate(where))
