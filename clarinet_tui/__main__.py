"""`python -m clarinet_tui` is `clarinet`."""

from clarinet_tui.cli.main import main

main()
