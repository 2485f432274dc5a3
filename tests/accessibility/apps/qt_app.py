"""A Qt 6 window with one of everything: python qt_app.py [--file F]."""

import argparse
import sys
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QPushButton,
    QSlider,
    QVBoxLayout,
    QWidget,
)


def items() -> QWidget:
    """Rows that are called the same but for their label, and buttons that move them."""
    outer, rows, last = QWidget(), QVBoxLayout(), QLabel("nothing done")
    held: list[QWidget] = []

    def add(text: str, at: int) -> None:
        line, label = QWidget(), QLabel(text)
        layout = QHBoxLayout(line)
        layout.addWidget(label)
        for act in ("Open", "Delete"):
            button = QPushButton(act)
            button.clicked.connect(lambda _=False, act=act: last.setText(f"{act} {label.text()}"))
            layout.addWidget(button)
        held.insert(at, line)
        show()

    def show() -> None:
        # The children of a widget are listed in the order in which they became its children.
        for line in held:
            line.setParent(None)
        for line in held:
            rows.addWidget(line)
            line.show()

    def swap() -> None:
        held.insert(0, held.pop(1))
        show()

    def gone() -> None:
        line = held.pop(1)
        rows.removeWidget(line)
        line.setParent(None)
        line.deleteLater()

    def relabel() -> None:
        for number, line in enumerate(held):
            line.findChild(QLabel).setText(f"Other {number}")

    for number in range(3):
        add(f"Item {number}", number)
    column = QVBoxLayout(outer)
    box = QWidget()
    box.setLayout(rows)
    column.addWidget(box)
    column.addWidget(last)
    for text, act in (
        ("Row above", lambda: add("New", 0)),
        ("Row gone", gone),
        ("Rows swapped", swap),
        ("Rows reused", relabel),
    ):
        button = QPushButton(text)
        button.clicked.connect(act)
        column.addWidget(button)
    return outer


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--file")
    parser.add_argument("--items", action="store_true", help="rows that come and go")
    options = parser.parse_args()
    app = QApplication(sys.argv[:1])
    window = QMainWindow()
    window.setWindowTitle("Qt fixture")
    label = QLabel("count 0")
    entry = QLineEdit("first")
    entry.setAccessibleName("Name")
    secret = QLineEdit("hunter2")
    secret.setAccessibleName("Passphrase")
    secret.setEchoMode(QLineEdit.EchoMode.Password)
    slider = QSlider(Qt.Orientation.Horizontal)
    slider.setAccessibleName("Size")
    choice = QComboBox()
    choice.addItems(["Red", "Green"])
    button = QPushButton("Press")
    counted = [0]

    def press() -> None:
        counted[0] += 1
        label.setText(f"count {counted[0]}")

    button.clicked.connect(press)
    layout = QVBoxLayout()
    small = QPushButton("Minimize")
    small.clicked.connect(window.showMinimized)
    notes = QPlainTextEdit()
    notes.setAccessibleName("Notes")
    for widget in (label, entry, secret, slider, QCheckBox("Bold"), choice, button, small, notes):
        layout.addWidget(widget)
    if options.items:
        layout.addWidget(items())
    central = QWidget()
    central.setLayout(layout)
    window.setCentralWidget(central)
    menu = window.menuBar().addMenu("&File")
    menu.addAction("&Save").triggered.connect(
        lambda: Path(options.file).write_text(f"Save: {entry.text()}\n")
    )
    menu.addAction("Quit").triggered.connect(app.quit)
    window.show()
    return app.exec()


sys.exit(main())
