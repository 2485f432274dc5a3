"""A small GTK 4 window: /usr/bin/python3 gtk4_app.py [--labels]."""

import sys

import gi

gi.require_version("Gtk", "4.0")
from gi.repository import Gtk  # noqa: E402


def add_labelled(box):
    # The name of the button is that of its class: what it is called stands in it.
    button, inside, line = Gtk.Button(), Gtk.Box(), Gtk.Box()
    inside.append(Gtk.Image(icon_name="user-trash"))
    inside.append(Gtk.Label(label="Delete everything"))
    button.set_child(inside)
    line.append(Gtk.Label(label="Street"))
    line.append(Gtk.Entry(text="second"))
    box.append(button)
    box.append(line)


def open_window(app):
    window = Gtk.ApplicationWindow(application=app, title="GTK 4 fixture")
    box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
    label = Gtk.Label(label="count 0")
    button = Gtk.Button(label="Press")
    button.connect("clicked", lambda _: label.set_label("count 1"))
    notes = Gtk.TextView(height_request=60)
    for widget in (label, button, Gtk.Entry(text="first"), Gtk.CheckButton(label="Bold"), notes):
        box.append(widget)
    if "--labels" in sys.argv:
        add_labelled(box)
    window.set_child(box)
    window.present()


application = Gtk.Application(application_id="org.example.Gtk4Fixture")
application.connect("activate", open_window)
application.run()
