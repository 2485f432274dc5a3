"""A small GTK 4 window: /usr/bin/python3 gtk4_app.py."""

import gi

gi.require_version("Gtk", "4.0")
from gi.repository import Gtk  # noqa: E402


def open_window(app):
    window = Gtk.ApplicationWindow(application=app, title="GTK 4 fixture")
    box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
    label = Gtk.Label(label="count 0")
    button = Gtk.Button(label="Press")
    button.connect("clicked", lambda _: label.set_label("count 1"))
    notes = Gtk.TextView(height_request=60)
    for widget in (label, button, Gtk.Entry(text="first"), Gtk.CheckButton(label="Bold"), notes):
        box.append(widget)
    window.set_child(box)
    window.present()


application = Gtk.Application(application_id="org.example.Gtk4Fixture")
application.connect("activate", open_window)
application.run()
