"""The bridge to AT-SPI2, the accessibility interface of Linux desktops, over D-Bus (jeepney)."""
