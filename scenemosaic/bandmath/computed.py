"""What is made of a source's bands: the part of a recipe that says so."""

from dataclasses import dataclass, field
from typing import Final

from scenemosaic.bandmath.parser import MAX_CHARS, parse
from scenemosaic.bandmath.tree import Node, bands_of, spelled
from scenemosaic.canonical import Fields, without
from scenemosaic.errors import InputError

MAX_BANDS: Final = 65535


@dataclass(frozen=True, slots=True)
class Computed:
    """Each output band is one band of the source (``bands``), or an expression over them.

    Exactly one of the two is given. ``unscale`` takes value x scale + offset of
    each source band, as the source says them, in the place of its value.
    Expressions are spelled as :func:`canonical` does.
    """

    bands: tuple[int, ...] = ()
    expressions: tuple[str, ...] = ()
    unscale: bool = False
    trees: tuple[Node, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if bool(self.bands) == bool(self.expressions):
            raise InputError("computed takes bands or expressions, one of them")
        if not all(type(band) is int and 1 <= band <= MAX_BANDS for band in self.bands):
            raise InputError(f"computed.bands must be within 1..{MAX_BANDS}: {self.bands!r:.80}")
        if self.expressions:
            object.__setattr__(self, "trees", _trees(self.expressions))

    @property
    def count(self) -> int:
        """The number of output bands."""
        return len(self.bands) or len(self.expressions)

    def read(self) -> tuple[int, ...]:
        """The numbers of the source's bands that are needed, ascending."""
        named = frozenset(self.bands).union(*map(bands_of, self.trees))
        return tuple(sorted(named))

    def to_json(self) -> dict[str, object]:
        """The canonical JSON value: defaults omitted."""
        values: dict[str, object] = {
            "bands": list(self.bands),
            "expressions": list(self.expressions),
            "unscale": self.unscale,
        }
        return without(values, {"bands": [], "expressions": [], "unscale": False})


def _trees(expressions: tuple[str, ...]) -> tuple[Node, ...]:
    if not all(type(text) is str for text in expressions):
        raise InputError(f"computed.expressions must be texts, not {expressions!r:.80}")
    if canonical(text := ";".join(expressions)) != expressions:
        raise InputError("computed.expressions are not spelled canonically")
    return parse(text)


def canonical(text: str) -> tuple[str, ...]:
    """The expressions in ``text``, each in its one spelling. Raises InputError as the parser does.

    Also where one names no band at all: it would be an image of one number.
    """
    trees = parse(text)
    for tree in trees:
        if not bands_of(tree):
            raise InputError(f"--expression: {spelled(tree)!r:.60} names no band")
    expressions = tuple(map(spelled, trees))
    if (length := len(";".join(expressions))) > MAX_CHARS:
        raise InputError(
            f"--expression has {length} characters once it is written out, more than {MAX_CHARS}"
        )
    return expressions


def computed_from_json(value: object) -> Computed:
    """The value that :meth:`Computed.to_json` wrote; InputError names the field that is wrong."""
    fields = Fields(value, "recipe.computed")
    computed = Computed(
        bands=tuple(fields.typed("bands", list, [])),
        expressions=tuple(fields.typed("expressions", list, [])),
        unscale=fields.typed("unscale", bool, False),
    )
    fields.done()
    return computed
