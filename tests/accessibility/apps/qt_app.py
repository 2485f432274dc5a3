"""A Qt 6 window with one of everything: python qt_app.py [--file F]."""

import argparse
import sys
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QMainWindow,
    QPushButton,
    QSlider,
    QVBoxLayout,
    QWidget,
)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--file")
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
    for widget in (label, entry, secret, slider, QCheckBox("Bold"), choice, button, small):
        layout.addWidget(widget)
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
