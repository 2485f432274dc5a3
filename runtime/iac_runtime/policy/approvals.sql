CREATE TABLE questions (
    nonce TEXT PRIMARY KEY, asked REAL NOT NULL, used INTEGER NOT NULL, counted INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE stopped (since REAL NOT NULL);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, app TEXT NOT NULL, command TEXT NOT NULL,
    kind TEXT NOT NULL, tool TEXT NOT NULL, says TEXT NOT NULL, digest TEXT NOT NULL,
    made TEXT NOT NULL, client TEXT NOT NULL, mac TEXT NOT NULL, UNIQUE (app, command, kind)
);

-- Questions that are open when the file is brought to this version are asked again.
DROP TABLE questions;
CREATE TABLE questions (
    nonce TEXT PRIMARY KEY, asked REAL NOT NULL, used INTEGER NOT NULL
) WITHOUT ROWID;
DROP TABLE stopped;
CREATE TABLE stopped (client TEXT PRIMARY KEY, since REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE declined (client TEXT NOT NULL, since REAL NOT NULL);

-- What was remembered by tools is asked about once more.
DROP TABLE decisions;
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, covers TEXT NOT NULL UNIQUE, tool TEXT NOT NULL,
    says TEXT NOT NULL, digest TEXT NOT NULL, made TEXT NOT NULL, client TEXT NOT NULL,
    mac TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS unshown (
    client TEXT PRIMARY KEY, since REAL NOT NULL
) WITHOUT ROWID;
