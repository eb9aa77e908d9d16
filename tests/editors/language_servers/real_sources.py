"""Small programs in many languages, with questions about them whose answers are known."""

import os
from pathlib import Path
from typing import NamedTuple

from portico.domain.windows import LookupKind
from portico.editors.language_servers.catalog import server_catalog
from portico.editors.language_servers.programs import find_server_program

PYTHON = {
    "shapes.py": """\
from abc import ABC, abstractmethod


class Shape(ABC):
    @abstractmethod
    def area(self) -> float: ...


class Square(Shape):
    def __init__(self, side: float) -> None:
        self.side = side

    def area(self) -> float:
        return scaled(self.side, self.side)


def scaled(value: float, factor: float) -> float:
    return value * factor
""",
    "main.py": """\
from shapes import Shape, Square


def total(shapes: list[Shape]) -> float:
    return sum(shape.area() for shape in shapes)


first = Square(2)
print(total([first]))
""",
}
SCRIPT = {
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "nodenext", "target": "es2022"}}',
    "shapes.ts": """\
export interface Shape {
  area(): number;
}

export class Square implements Shape {
  constructor(readonly side: number) {}

  area(): number {
    return scaled(this.side, this.side);
  }
}

export function scaled(value: number, factor: number): number {
  return value * factor;
}
""",
    "main.ts": """\
import { type Shape, Square } from "./shapes.js";

export function total(shapes: Shape[]): number {
  return shapes.reduce((sum, shape) => sum + shape.area(), 0);
}

export const first = new Square(2);
console.log(total([first]));
export const none: Square[] = [];
""",
}
C = {
    "shapes.h": """\
struct square {
    double side;
};

double area(struct square shape);
""",
    "shapes.c": """\
#include "shapes.h"

static double scaled(double value, double factor) {
    return value * factor;
}

double area(struct square shape) {
    return scaled(shape.side, shape.side);
}
""",
    "main.c": """\
#include "shapes.h"

int main(void) {
    struct square first = {2};
    return (int)area(first);
}
""",
}
SHELL = {
    "tools.sh": """\
greet() {
  echo "hello $1"
}

greet you
"""
}
GO = {
    "go/go.mod": "module example.com/shapes\n\ngo 1.21\n",
    "go/shapes.go": """\
package shapes

type Shape interface {
	Area() float64
}

type Square struct {
	Side float64
}

func (s Square) Area() float64 {
	return scaled(s.Side, s.Side)
}

func scaled(value, factor float64) float64 {
	return value * factor
}
""",
    "go/total.go": """\
package shapes

func Total(shapes []Shape) float64 {
	sum := 0.0
	for _, shape := range shapes {
		sum += shape.Area()
	}
	return sum
}

var First = Square{2}
""",
}
RUST = {
    "Cargo.toml": '[package]\nname = "shapes"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": """\
pub trait Shape {
    fn area(&self) -> f64;
}

pub struct Square {
    pub side: f64,
}

impl Shape for Square {
    fn area(&self) -> f64 {
        scaled(self.side, self.side)
    }
}

pub fn scaled(value: f64, factor: f64) -> f64 {
    value * factor
}
""",
    "src/main.rs": """\
use shapes::{Shape, Square};

fn total(shapes: &[Square]) -> f64 {
    shapes.iter().map(|shape| shape.area()).sum()
}

fn main() {
    let first = Square { side: 2.0 };
    println!("{}", total(&[first]));
}
""",
}
Answer = tuple[LookupKind, str, int, str, set[str]]
"""Question about a name on a line, and the lines of the answers."""
PYTHON_ANSWERS: list[Answer] = [
    ("definition", "main.py", 8, "Square", {"shapes.py:9"}),
    ("type_definition", "main.py", 9, "first", {"shapes.py:9"}),
    ("implementations", "shapes.py", 6, "area", {"shapes.py:6", "shapes.py:13"}),
    ("references", "shapes.py", 17, "scaled", {"shapes.py:14", "shapes.py:17"}),
    ("callers", "shapes.py", 17, "scaled", {"shapes.py:14"}),
    ("callees", "main.py", 4, "total", {"shapes.py:6"}),
]
SCRIPT_ANSWERS: list[Answer] = [
    ("definition", "main.ts", 7, "Square", {"shapes.ts:5", "shapes.ts:6"}),
    ("type_definition", "main.ts", 8, "first", {"shapes.ts:5"}),
    ("implementations", "shapes.ts", 1, "Shape", {"shapes.ts:5"}),
    ("implementations", "shapes.ts", 2, "area", {"shapes.ts:8"}),
    ("references", "shapes.ts", 13, "scaled", {"shapes.ts:9", "shapes.ts:13"}),
    ("callers", "shapes.ts", 13, "scaled", {"shapes.ts:9"}),
    ("callees", "shapes.ts", 8, "area", {"shapes.ts:13"}),
]
C_ANSWERS: list[Answer] = [
    ("definition", "main.c", 5, "area", {"shapes.c:7"}),
    ("type_definition", "main.c", 5, "first", {"shapes.h:1"}),
    ("references", "shapes.h", 5, "area", {"shapes.h:5", "shapes.c:7", "main.c:5"}),
    ("callers", "shapes.c", 3, "scaled", {"shapes.c:8"}),
    ("callees", "shapes.c", 7, "area", {"shapes.c:3"}),
]
SHELL_ANSWERS: list[Answer] = [
    ("definition", "tools.sh", 5, "greet", {"tools.sh:1"}),
    ("references", "tools.sh", 1, "greet", {"tools.sh:1", "tools.sh:5"}),
]
GO_ANSWERS: list[Answer] = [
    ("definition", "go/total.go", 6, "Area", {"go/shapes.go:4"}),
    ("type_definition", "go/total.go", 11, "First", {"go/shapes.go:7"}),
    ("implementations", "go/shapes.go", 3, "Shape", {"go/shapes.go:7"}),
    ("references", "go/shapes.go", 15, "scaled", {"go/shapes.go:12", "go/shapes.go:15"}),
    ("callers", "go/shapes.go", 15, "scaled", {"go/shapes.go:12"}),
    ("callees", "go/shapes.go", 11, "Area", {"go/shapes.go:15"}),
]
RUST_ANSWERS: list[Answer] = [
    ("definition", "src/main.rs", 8, "Square", {"src/lib.rs:5"}),
    ("type_definition", "src/main.rs", 9, "first", {"src/lib.rs:5"}),
    ("implementations", "src/lib.rs", 1, "Shape", {"src/lib.rs:9"}),
    ("implementations", "src/lib.rs", 2, "area", {"src/lib.rs:10"}),
    ("references", "src/lib.rs", 15, "scaled", {"src/lib.rs:11", "src/lib.rs:15"}),
    ("callers", "src/lib.rs", 15, "scaled", {"src/lib.rs:11"}),
    ("callees", "src/lib.rs", 10, "area", {"src/lib.rs:15"}),
]


class Sample(NamedTuple):
    """Files of one language, and a change of one file that another one does not get on with."""

    sources: dict[str, str]
    answers: list[Answer]
    user: str
    changed: str
    good: str
    bad: str


def samples() -> list[Sample]:
    """The languages of the servers that the tests fetch, and of those that are installed besides."""
    python = Sample(
        PYTHON,
        PYTHON_ANSWERS,
        "main.py",
        "shapes.py",
        "def area(self) -> float: ...",
        "def area(self, unit: str) -> float: ...",
    )
    script = Sample(
        SCRIPT, SCRIPT_ANSWERS, "main.ts", "shapes.ts", "readonly side: number", "readonly side: string"
    )
    go = Sample(
        GO, GO_ANSWERS, "go/total.go", "go/shapes.go", "Area() float64\n}", "Area(unit string) float64\n}"
    )
    rust = Sample(
        RUST,
        RUST_ANSWERS,
        "src/main.rs",
        "src/lib.rs",
        "fn area(&self) -> f64",
        "fn area(&self, unit: &str) -> f64",
    )
    besides = [sample for name, sample in (("gopls", go), ("rust-analyzer", rust)) if _is_installed(name)]
    return [python, script, *besides]


def _is_installed(name: str) -> bool:
    spec = next(spec for spec in server_catalog({}) if spec.name == name)
    return find_server_program(spec, Path.cwd(), os.environ, trusted=False) is not None


SAMPLES = samples()
SOURCES = {**C, **SHELL, "steps.yaml": "steps:\n  - first\nname: build\n"}
for _sample in SAMPLES:
    SOURCES |= _sample.sources
ANSWERS = [*(answer for sample in SAMPLES for answer in sample.answers), *C_ANSWERS, *SHELL_ANSWERS]
