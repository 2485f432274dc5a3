"""The command `iac-gen`: what must be right before anything of it can be imported."""

import os
import sys

LIBRARIES = ("anyascii", "black", "jinja2", "lxml")
"""What builds need beside the runtime; what they write may change with each."""


def main() -> None:
    """Run the command line, or say in one line what is missing."""
    if sys.version_info < (3, 11):  # noqa: UP036  the message is for those whom pip did not stop
        sys.exit("iac-gen needs Python 3.11 or newer; this is %d.%d." % sys.version_info[:2])
    from iac_base.errors import missing_packages

    if missing := missing_packages("iac-gen", "gen", LIBRARIES):
        sys.exit(missing)
    import click

    from iac_gen.cli import cli

    try:
        status = cli(prog_name="iac-gen", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        click.echo(f"iac-gen: {error.format_message()}", err=True)
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except OSError as error:
        # What could not be printed must not be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(f"iac-gen: {error.filename or 'standard output'}: {error.strerror}.")
