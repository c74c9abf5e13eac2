"""What came of histories: a line for each while a run goes on, and a line for each run in a file that is committed."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2s
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]

Line = dict[str, Any]


@dataclass(frozen=True)
class Ledger:
    """`runs` is the file of runs, `kept` that of the histories of a run that has not ended."""

    runs: Path = Path(__file__).parent / "LEDGER.jsonl"
    kept: Path = ROOT / ".kills.jsonl"

    @cached_property
    def code(self) -> str:
        """The code under test, by what is in its files."""
        spec = find_spec("tieout")
        assert spec is not None
        assert spec.origin is not None
        digest = blake2s(digest_size=6)
        for source in sorted(Path(spec.origin).parent.rglob("*.py")):
            digest.update(source.read_bytes())
        return digest.hexdigest()

    def keep(self, history: Line) -> None:
        with self.kept.open("a") as lines:
            lines.write(json.dumps({"code": self.code, **history}) + "\n")

    def close(self) -> list[Line]:
        """Makes a run of the histories that are kept, one for each code that they are of; the runs."""
        histories = _lines(self.kept)
        runs = [
            _run(code, [line for line in histories if line["code"] == code])
            for code in dict.fromkeys(line["code"] for line in histories)
        ]
        with self.runs.open("a") as lines:
            lines.writelines(json.dumps(run) + "\n" for run in runs)
        self.kept.unlink(missing_ok=True)
        return runs

    def kills(self) -> int:
        """How many movers of this code were killed, in all runs."""
        return sum(run["kills"] for run in _lines(self.runs) if run["code"] == self.code)

    def next_seed(self) -> int:
        """One that no run has had."""
        return 1 + max((run["seeds"][1] for run in _lines(self.runs)), default=0)


def _run(code: str, histories: Sequence[Line]) -> Line:
    seeds = [line["seed"] for line in histories]
    violated = [line["seed"] for line in histories if line["violations"]]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": histories[0]["commit"],
        "code": code,
        "seeds": [min(seeds), max(seeds)],
        "histories": len(histories),
        "kills": sum(line["kills"] for line in histories),
        "transactions": sum(line["transactions"] for line in histories),
        "pairs": _counted(histories, "pair"),
        "deliveries": _counted(histories, "delivery"),
        "places": dict(sorted(Counter(place for line in histories for place in line["places"]).items())),
        "lost": sum(bool(line["lost"]) for line in histories),
        "repeated": sum(bool(line["repeated"]) for line in histories),
        "violations": len(violated),
        "violated_seeds": sorted(violated),
    }


def _counted(histories: Iterable[Line], field: str) -> dict[str, int]:
    """Kills, by a field of the histories."""
    counts: Counter[str] = Counter()
    for line in histories:
        counts[line[field]] += line["kills"]
    return dict(sorted(counts.items()))


def _lines(file: Path) -> list[Line]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def commit() -> str:
    """What is checked out; with a + if `src` is not as it was committed."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)

    changed = git("status", "--porcelain", "--", "src").stdout.strip()
    return (git("rev-parse", "--short", "HEAD").stdout.strip() or "unknown") + ("+" if changed else "")
