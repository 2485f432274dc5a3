"""Rows that a test changes: python rows_app.py TOOLKIT FOLDER; TOOLKIT is gtk3, gtk4 or qt.

`FOLDER/rows` says which rows there are, a line each: a key that stays with the row, a tab, and what
it is called. Pressing a button of a row adds `act key name` to `FOLDER/acts`; `FOLDER/shown` is the
text of `rows` that is shown.
"""

import sys
from pathlib import Path

TOOLKIT, FOLDER = sys.argv[1], Path(sys.argv[2])
ACTS = ("Open", "Delete")


def acted(act, key, text):
    with (FOLDER / "acts").open("a") as file:
        file.write(f"{act} {key} {text}\n")


class Watcher:
    def __init__(self, show):
        self.show, self.before = show, ""

    def look(self):
        text = (FOLDER / "rows").read_text()
        if text != self.before and text.endswith("."):
            self.before = text
            self.show([line.split("\t") for line in text.splitlines()[:-1]])
            (FOLDER / "shown").write_text(text)
        return True


def gtk3():
    import gi

    gi.require_version("Gtk", "3.0")
    from gi.repository import GLib, Gtk

    box, held = Gtk.ListBox(), {}

    def made(key):
        line, label, row = Gtk.Box(), Gtk.Label(), Gtk.ListBoxRow()
        line.add(label)
        for act in ACTS:
            button = Gtk.Button(label=act)
            button.connect("clicked", lambda _, act=act: acted(act, key, label.get_text()))
            line.add(button)
        row.add(line)
        return row, label

    def show(rows):
        for row, _ in held.values():
            if row.get_parent():
                box.remove(row)
        for key in set(held) - {key for key, _ in rows}:
            held.pop(key)[0].destroy()
        for key, text in rows:
            if key not in held:
                held[key] = made(key)
            row, label = held[key]
            label.set_text(text)
            box.add(row)
        box.show_all()

    window = Gtk.Window(title="Rows")
    window.add(box)
    window.show_all()
    GLib.timeout_add(4, Watcher(show).look)
    Gtk.main()


def gtk4():
    import gi

    gi.require_version("Gtk", "4.0")
    from gi.repository import GLib, Gtk

    texts, names = {}, Gtk.StringList()

    # A list that uses a few widgets for all rows.
    def setup(_factory, item):
        line = Gtk.Box()
        line.append(Gtk.Label())
        for act in ACTS:
            button = Gtk.Button(label=act)
            button.connect("clicked", lambda _, act=act: pressed(act, item))
            line.append(button)
        item.set_child(line)

    def pressed(act, item):
        key = item.get_item().get_string().partition("\t")[0]
        acted(act, key, texts[key])

    def bind(_factory, item):
        item.get_child().get_first_child().set_text(item.get_item().get_string().partition("\t")[2])

    def show(rows):
        texts.clear()
        texts.update(rows)
        new = ["\t".join(row) for row in rows]
        old = [names.get_string(at) for at in range(names.get_n_items())]
        # Only what is between the rows that stay at both ends is given anew.
        pairs = enumerate(zip(old, new, strict=False))
        first = next((at for at, two in pairs if two[0] != two[1]), None)
        first = min(len(old), len(new)) if first is None else first
        last = 0
        while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
            last += 1
        names.splice(first, len(old) - first - last, new[first : len(new) - last])

    def start(app):
        factory = Gtk.SignalListItemFactory()
        factory.connect("setup", setup)
        factory.connect("bind", bind)
        window = Gtk.ApplicationWindow(application=app, title="Rows")
        window.set_default_size(300, 500)
        window.set_child(Gtk.ListView(model=Gtk.NoSelection(model=names), factory=factory))
        window.present()
        GLib.timeout_add(4, Watcher(show).look)

    app = Gtk.Application(application_id="org.example.Rows")
    app.connect("activate", start)
    app.run()


def qt():
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import (
        QApplication,
        QHBoxLayout,
        QLabel,
        QPushButton,
        QVBoxLayout,
        QWidget,
    )

    app, held = QApplication(sys.argv[:1]), {}
    window = QWidget()
    column = QVBoxLayout(window)

    def made(key):
        line, label = QWidget(), QLabel()
        layout = QHBoxLayout(line)
        layout.addWidget(label)
        for act in ACTS:
            button = QPushButton(act)
            button.clicked.connect(lambda _=False, act=act: acted(act, key, label.text()))
            layout.addWidget(button)
        return line, label

    def show(rows):
        # The children of a widget are listed in the order in which they became its children.
        for line, _ in held.values():
            column.removeWidget(line)
            line.setParent(None)
        for key in set(held) - {key for key, _ in rows}:
            held.pop(key)[0].deleteLater()
        for key, text in rows:
            if key not in held:
                held[key] = made(key)
            line, label = held[key]
            label.setText(text)
            column.addWidget(line)
            line.show()

    window.setWindowTitle("Rows")
    window.show()
    watcher, timer = Watcher(show), QTimer()
    timer.timeout.connect(watcher.look)
    timer.start(4)
    app.exec()


{"gtk3": gtk3, "gtk4": gtk4, "qt": qt}[TOOLKIT]()
