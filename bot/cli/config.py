"""`config check`: reading the configuration is the check; shown is where it points, never a secret."""

from __future__ import annotations

from argparse import Namespace

from bot.cli.output import print_json
from bot.config import Config


async def check(config: Config, args: Namespace) -> int:
    summary = _summary(config)
    if args.json:
        print_json(summary)
        return 0
    print("The configuration is fine.")
    for name, value in summary.items():
        print(f"  {name + ':':<12}{value}")
    return 0


def _summary(config: Config) -> dict[str, str]:
    access = config.access
    people = "everybody" if access.users == "all" else f"{len(access.admins | access.users)} people"
    return {
        "telegram": f"on, open to {people}" if config.telegram.token.get_secret_value() else "off (no token)",
        "brain": config.claude.model if config.claude.is_configured else "built-in notebook (no key)",
        "data": str(config.storage.dir.absolute()),
        "database": "PostgreSQL" if config.storage.database_url.get_secret_value() else "SQLite",
        "vectors": config.vectors.mode,
        "embeddings": config.embeddings.model,
        "web": config.web.listen or "off",
        "time zone": config.memory.timezone,
    }
