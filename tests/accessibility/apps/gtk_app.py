"""A GTK 3 window with one of everything: /usr/bin/python3 gtk_app.py [OPTIONS]; see `main`."""

import argparse
import subprocess
import sys
from pathlib import Path

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Atk", "1.0")
gi.require_version("Gdk", "3.0")
from gi.repository import Atk, Gdk, GLib, Gtk  # noqa: E402


def name(widget, text):
    widget.get_accessible().set_name(text)
    return widget


class Window(Gtk.Window):
    def __init__(self, options):
        super().__init__(title=options.title)
        self.options = options
        self.count = 0
        self.connect("destroy", Gtk.main_quit)
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        self.add(box)
        if not options.bare:
            box.add(self.menus())
        self.label = Gtk.Label(label="count 0")
        self.entry = name(Gtk.Entry(), "Name")
        self.entry.set_text("first")
        self.password = name(Gtk.Entry(visibility=False), "Passphrase")
        self.password.set_text("hunter2")
        self.slider = name(Gtk.Scale.new_with_range(Gtk.Orientation.HORIZONTAL, 0, 100, 1), "Size")
        self.check = Gtk.CheckButton(label="Bold")
        self.view = name(Gtk.TextView(), "Notes")
        self.spin = name(Gtk.SpinButton.new_with_range(0, 10, 1), "Copies")
        for widget in (
            self.label,
            self.entry,
            self.password,
            self.slider,
            self.check,
            self.view,
            self.spin,
        ):
            box.add(widget)
        self.row = Gtk.Box()
        box.add(self.row)
        for text, act in (
            ("Press", self.press),
            ("Delete", self.press),
            ("Ask", self.ask),
            ("Shift", self.shift),
            ("Rename", self.rename),
            ("Vanish", self.vanish),
            ("Second", self.second),
            ("Minimize", lambda _: self.iconify()),
        ):
            button = Gtk.Button(label=text)
            button.connect("clicked", act)
            self.row.add(button)
        off = Gtk.Button(label="Off")
        off.set_sensitive(False)
        self.row.add(off)
        hidden = Gtk.Button(label="Unseen")
        hidden.set_no_show_all(True)
        self.row.add(hidden)
        if options.rows:
            rows = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
            for number in range(options.rows):
                line = Gtk.Box()
                line.add(Gtk.Label(label=f"Row {number}"))
                line.add(Gtk.Entry(text=f"value {number}", width_chars=6))
                line.add(Gtk.Button(label=f"Go {number}"))
                rows.add(line)
            scrolled = Gtk.ScrolledWindow(min_content_height=200)
            scrolled.add(rows)
            box.add(scrolled)
        if options.hands:
            box.add(self.hands())
        if options.picker:
            # It waits until it is wanted, as that of a desktop does.
            command = [sys.executable, __file__, "--title", "Picker", "--waits"]
            self.picker = subprocess.Popen(command, stdin=subprocess.PIPE)
            for text in ("Pick", "Choose file…"):
                button = Gtk.Button(label=text)
                button.connect("clicked", lambda _: self.pick())
                box.add(button)
        if options.items:
            box.add(self.items())
        if options.run:
            command = name(Gtk.Entry(), "Command")
            command.connect("activate", lambda one: self.label.set_text(f"ran {one.get_text()}"))
            box.add(command)
        if options.secret:
            for text, identifier in (("Recovery key:", ""), ("", "api_token")):
                entry = Gtk.Entry(text="hunter2")
                if text:
                    label = Gtk.Label(label=text)
                    label.set_mnemonic_widget(entry)
                    box.add(label)
                else:
                    entry.get_accessible().set_accessible_id(identifier)
                box.add(entry)
        if options.beside:
            box.add(self.beside())
        if options.cover:
            # The page of a notebook is inside of a tab that is not shown.
            pages = Gtk.Notebook(show_tabs=False)
            pages.append_page(self.layers())
            box.add(pages)
        if options.twin:
            twin = Gtk.Window(title=options.title, default_width=300, default_height=200)
            twin.add(Gtk.Label(label="of the twin"))
            twin.show_all()
        if options.ticks:
            GLib.timeout_add(options.ticks, self.tick)
        self.show_all()

    def hands(self):
        """What keys and the pointer are needed for."""
        outer = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        block = Gtk.Button(label="Block")
        block.connect("clicked", self.block)
        grab = Gtk.Button(label="Grab")
        grab.drag_source_set(Gdk.ModifierType.BUTTON1_MASK, [], Gdk.DragAction.COPY)
        grab.drag_source_add_text_targets()
        grab.connect("drag-data-get", lambda _w, _c, data, *_: data.set_text("dragged", -1))
        choice = Gtk.ComboBoxText()
        for text in ("Red", "Green", "Blue"):
            choice.append_text(text)
        choice.connect("changed", lambda one: self.label.set_text(one.get_active_text()))
        menu = Gtk.Menu()
        copied = Gtk.MenuItem(label="Copied")
        copied.connect("activate", lambda _: self.label.set_text("from the menu"))
        menu.add(copied)
        menu.show_all()
        spot = Gtk.Button(label="Spot")
        spot.connect("button-press-event", lambda _, event: self.spot(event, menu))
        upper = name(Gtk.Entry(), "Upper")
        upper.connect("changed", lambda entry: entry.set_text(entry.get_text().upper()))
        for widget in (block, grab, choice, spot, upper):
            outer.add(widget)
        return outer

    def spot(self, event, menu):
        if event.button == 3:
            menu.popup_at_pointer(event)
        elif event.type == Gdk.EventType._2BUTTON_PRESS:
            self.label.set_text("twice")
        return False

    def pick(self):
        """Show a window of another program, as a file picker of the desktop is."""
        self.picker.stdin.close()

    def block(self, _button):
        dialog = Gtk.MessageDialog(
            transient_for=self, modal=True, text="Wait?", buttons=Gtk.ButtonsType.OK_CANCEL
        )
        dialog.set_title("Blocking")
        answer = dialog.run()
        dialog.destroy()
        self.label.set_text("confirmed" if answer == Gtk.ResponseType.OK else "escaped")

    def items(self):
        """Rows that are called the same but for their label, and buttons that move them."""
        outer = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        rows = Gtk.ListBox() if self.options.items == "list" else Gtk.Box()
        rows.set_property("name", "rows")
        moves = Gtk.Box()
        last = Gtk.Label(label="nothing done")

        def add(text, at):
            line = Gtk.Box()
            line.add(Gtk.Label(label=text))
            for act in ("Open", "Delete"):
                button = Gtk.Button(label=act)
                button.connect(
                    "clicked",
                    lambda _, act=act: last.set_text(f"{act} {line.get_children()[0].get_text()}"),
                )
                line.add(button)
            rows.add(line)
            # A list box has put the line in a row.
            row = line.get_parent() if line.get_parent() is not rows else line
            if self.options.items == "list":
                rows.remove(row)
                rows.insert(row, at)
            else:
                rows.reorder_child(row, at)
            rows.show_all()

        def relabel(_):
            for number, row in enumerate(rows.get_children()):
                line = row.get_children()[0] if self.options.items == "list" else row
                line.get_children()[0].set_text(f"Other {number}")

        def swap(_):
            row = rows.get_children()[1]
            rows.remove(row)
            if self.options.items == "list":
                rows.insert(row, 0)
            else:
                rows.add(row)
                rows.reorder_child(row, 0)

        for number in range(3):
            add(f"Item {number}", number)
        for text, act in (
            ("Row above", lambda _: add("New", 0)),
            ("Row gone", lambda _: rows.get_children()[1].destroy()),
            ("Rows swapped", swap),
            ("Rows reused", relabel),
        ):
            button = Gtk.Button(label=text)
            button.connect("clicked", act)
            moves.add(button)
        for widget in (rows, moves, last):
            outer.add(widget)
        return outer

    def beside(self):
        """What is called by a text beside it alone; a grid lists its last child first."""
        grid = Gtk.Grid()
        for at, text in enumerate(("API key", "Nickname", "Card number:")):
            grid.attach(Gtk.Label(label=text), 0, at, 1, 1)
            entry = Gtk.Entry(text=f"held {at} by hunter2")
            place = entry
            if at == 2:
                place = Gtk.Box()
                place.add(entry)
            grid.attach(place, 1, at, 1, 1)
        grid.attach(Gtk.Label(label="One-time code:"), 0, 3, 1, 1)
        grid.attach(Gtk.Label(label="493 021"), 1, 3, 1, 1)
        grid.attach(Gtk.Label(label="Pages:"), 0, 4, 1, 1)
        grid.attach(Gtk.Label(label="593 021"), 1, 4, 1, 1)
        grid.attach(Gtk.Label(label="made sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc"), 0, 5, 2, 1)
        return grid

    def layers(self):
        """A button below another one, and a window of this app that stays above this one."""

        def button(text):
            made = Gtk.Button(label=text)
            made.connect("button-press-event", lambda *_: self.label.set_text(f"hit {text}"))
            return made

        overlay = Gtk.Overlay()
        overlay.add(button("Under"))
        overlay.add_overlay(button("Over"))
        above = Gtk.Window(title="Above", transient_for=self, accept_focus=False, decorated=False)
        above.set_type_hint(Gdk.WindowTypeHint.UTILITY)
        above.add(button("Above all"))
        above.drag_dest_set(Gtk.DestDefaults.ALL, [], Gdk.DragAction.COPY)
        above.drag_dest_add_text_targets()
        above.connect("drag-data-received", lambda *_: self.label.set_text("dropped above"))
        self.connect("map", lambda _: above.show_all())
        return overlay

    def menus(self):
        bar = Gtk.MenuBar()
        for title, items in (
            ("File", ("Save", "Save As…", "Off", "Quit")),
            ("Edit", ("Copy", "Paste")),
        ):
            menu = Gtk.Menu()
            for text in items:
                item = Gtk.MenuItem(label=text)
                item.set_sensitive(text != "Off")
                item.connect("activate", self.chosen, text)
                menu.add(item)
            if title == "Edit":
                more = Gtk.Menu()
                item = Gtk.MenuItem(label="Upper Case")
                item.connect("activate", self.chosen, "Upper Case")
                more.add(item)
                if self.options.hands:
                    item = Gtk.MenuItem(label="Replace…")
                    item.connect("activate", self.block)
                    more.add(item)
                sub = Gtk.MenuItem(label="Transform")
                sub.set_submenu(more)
                menu.add(sub)
            top = Gtk.MenuItem(label=title)
            top.set_submenu(menu)
            bar.add(top)
        return bar

    def chosen(self, _item, text):
        if text == "Quit":
            Gtk.main_quit()
        elif self.options.file:
            Path(self.options.file).write_text(f"{text}: {self.entry.get_text()}\n")

    def press(self, _button):
        self.count += 1
        self.label.set_text(f"count {self.count}")

    def tick(self):
        self.press(None)
        return True

    def ask(self, _button):
        dialog = Gtk.MessageDialog(
            transient_for=self, modal=True, text="Sure?", buttons=Gtk.ButtonsType.OK_CANCEL
        )
        dialog.set_title("Question")
        dialog.set_default_response(Gtk.ResponseType.OK)
        dialog.connect("response", self.answered)
        prefer = Gtk.CheckButton(label="Prefer Cancel")
        prefer.connect("toggled", lambda _: dialog.set_default_response(Gtk.ResponseType.CANCEL))
        dialog.get_message_area().add(prefer)
        dialog.show_all()

    def answered(self, dialog, response):
        self.label.set_text("yes" if response == Gtk.ResponseType.OK else "no")
        dialog.destroy()

    def shift(self, button):
        extra = Gtk.Button(label="New first")
        self.row.add(extra)
        self.row.reorder_child(extra, 0)
        extra.show()

    def rename(self, button):
        self.row.get_children()[0].set_label("Renamed")

    def vanish(self, button):
        button.destroy()

    def second(self, _button):
        other = Gtk.Window(title="Second window")
        other.add(Gtk.Button(label="Press"))
        other.show_all()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--title", default="Fixture")
    parser.add_argument("--file")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--items", choices=("list", "box"), help="rows that come and go")
    parser.add_argument("--hands", action="store_true", help="what needs keys and the pointer")
    parser.add_argument("--bare", action="store_true", help="no menu bar")
    parser.add_argument("--picker", action="store_true", help="buttons that start another program")
    parser.add_argument("--waits", action="store_true", help="no window before its input ends")
    parser.add_argument("--run", action="store_true", help="a field whose command Return runs")
    parser.add_argument("--cover", action="store_true", help="what lies above something else")
    parser.add_argument("--twin", action="store_true", help="a second window of the same title")
    parser.add_argument("--secret", action="store_true", help="fields that are secret by name")
    parser.add_argument("--beside", action="store_true", help="secrets by what is beside them")
    parser.add_argument("--ticks", type=int, default=0)
    options = parser.parse_args()
    if options.waits:
        sys.stdin.read()
    Window(options)
    Gtk.main()


assert Atk is not None
main()
