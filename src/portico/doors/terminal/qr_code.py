"""QR codes of short texts for the terminal: byte mode, error correction level L, versions 1 to 6 (ISO/IEC 18004)."""

from collections.abc import Callable, Sequence

# For each version: data bytes, error correction bytes per block, blocks.
_VERSIONS = ((19, 7, 1), (34, 10, 1), (55, 15, 1), (80, 20, 1), (108, 26, 1), (136, 18, 2))
_BYTE_MODE, _LEVEL_L = 0b0100, 0b01
_PADDING = (0xEC, 0x11)
_FIELD, _FORMAT_GENERATOR, _FORMAT_MASK = 0x11D, 0x537, 0x5412
_FINDER, _QUIET = 7, 2
_MASKS: tuple[Callable[[int, int], bool], ...] = (
    lambda row, column: (row + column) % 2 == 0,
    lambda row, _: row % 2 == 0,
    lambda _, column: column % 3 == 0,
    lambda row, column: (row + column) % 3 == 0,
    lambda row, column: (row // 2 + column // 3) % 2 == 0,
    lambda row, column: row * column % 2 + row * column % 3 == 0,
    lambda row, column: (row * column % 2 + row * column % 3) % 2 == 0,
    lambda row, column: ((row + column) % 2 + row * column % 3) % 2 == 0,
)

Grid = list[list[bool | None]]


def draw_qr_code(text: str) -> str | None:
    """The code in half blocks, dark on light; None if the text is too long for it."""
    modules = encode(text.encode())
    if modules is None:
        return None
    size = len(modules) + 2 * _QUIET

    def is_dark(row: int, column: int) -> bool:
        row, column = row - _QUIET, column - _QUIET
        return 0 <= row < len(modules) and 0 <= column < len(modules) and modules[row][column]

    signs = {(True, True): " ", (True, False): "▄", (False, True): "▀", (False, False): "█"}
    return "\n".join(
        "".join(signs[is_dark(row, column), is_dark(row + 1, column)] for column in range(size))
        for row in range(0, size, 2)
    )


def encode(data: bytes) -> list[list[bool]] | None:
    """The modules of the smallest code for these bytes, True for dark."""
    for version, (capacity, check_bytes, blocks) in enumerate(_VERSIONS, start=1):
        if len(data) + 2 <= capacity:
            words = _interleave(_data_words(data, capacity), check_bytes, blocks)
            return _best_mask(version, words)
    return None


def _data_words(data: bytes, capacity: int) -> list[int]:
    bits = f"{_BYTE_MODE:04b}{len(data):08b}" + "".join(f"{byte:08b}" for byte in data)
    bits += "0" * min(4, capacity * 8 - len(bits))
    bits += "0" * (-len(bits) % 8)
    words = [int(bits[place : place + 8], 2) for place in range(0, len(bits), 8)]
    missing = capacity - len(words)
    return words + [_PADDING[number % 2] for number in range(missing)]


def _interleave(words: Sequence[int], check_bytes: int, blocks: int) -> list[int]:
    size = len(words) // blocks
    parts = [words[place * size : (place + 1) * size] for place in range(blocks)]
    checks = [_check_words(part, check_bytes) for part in parts]
    data = [part[place] for place in range(size) for part in parts]
    return data + [check[place] for place in range(check_bytes) for check in checks]


def _check_words(words: Sequence[int], count: int) -> list[int]:
    """Reed-Solomon error correction."""
    generator, root = [1], 1
    for _ in range(count):
        generator = [
            left ^ right
            for left, right in zip(
                [*generator, 0], [0, *(_multiply(one, root) for one in generator)], strict=True
            )
        ]
        root = _multiply(root, 2)
    rest = [*words, *[0] * count]
    for place in range(len(words)):
        factor = rest[place]
        for offset, one in enumerate(generator):
            rest[place + offset] ^= _multiply(one, factor)
    return rest[-count:]


def _multiply(left: int, right: int) -> int:
    product = 0
    while right:
        if right & 1:
            product ^= left
        left = left << 1 ^ (_FIELD if left & 0x80 else 0)
        right >>= 1
    return product


def _best_mask(version: int, words: Sequence[int]) -> list[list[bool]]:
    frame = _frame(version)
    bits = [bool(word >> shift & 1) for word in words for shift in range(7, -1, -1)]
    found = []
    for number, mask in enumerate(_MASKS):
        modules = _fill(frame, bits, mask)
        _write_format(modules, number)
        found.append([[bool(one) for one in row] for row in modules])
    return min(found, key=_penalty)


def _frame(version: int) -> Grid:
    """The fixed patterns; None where data goes. The place of the format is reserved."""
    size = 17 + 4 * version
    grid: Grid = [[None] * size for _ in range(size)]
    for place in range(size):
        grid[6][place] = grid[place][6] = place % 2 == 0
    for top, left in ((0, 0), (0, size - _FINDER), (size - _FINDER, 0)):
        for row in range(-1, _FINDER + 1):
            for column in range(-1, _FINDER + 1):
                if 0 <= top + row < size and 0 <= left + column < size:
                    ring = max(abs(row - 3), abs(column - 3))
                    grid[top + row][left + column] = ring in (0, 1, 3)
    if version > 1:
        center = size - _FINDER
        for row in range(-2, 3):
            for column in range(-2, 3):
                grid[center + row][center + column] = max(abs(row), abs(column)) != 1
    for place in range(9):
        grid[8][place] = grid[8][place] or False
        grid[place][8] = grid[place][8] or False
    for place in range(8):
        grid[8][size - 1 - place] = grid[size - 1 - place][8] = False
    grid[size - 8][8] = True
    return grid


def _fill(frame: Grid, bits: Sequence[bool], mask: Callable[[int, int], bool]) -> Grid:
    """Lay the bits in columns of two, upwards and downwards in turn."""
    grid, size = [list(row) for row in frame], len(frame)
    upcoming, upwards = iter(bits), True
    for right in (*range(size - 1, 6, -2), *range(5, 0, -2)):
        for step in range(size):
            row = size - 1 - step if upwards else step
            for column in (right, right - 1):
                if grid[row][column] is None:
                    grid[row][column] = next(upcoming, False) != mask(row, column)
        upwards = not upwards
    return grid


def _write_format(grid: Grid, mask: int) -> None:
    data = _LEVEL_L << 3 | mask
    rest = data << 10
    for shift in range(14, 9, -1):
        if rest >> shift & 1:
            rest ^= _FORMAT_GENERATOR << (shift - 10)
    bits = (data << 10 | rest) ^ _FORMAT_MASK
    size = len(grid)
    around = [(8, 0), (8, 1), (8, 2), (8, 3), (8, 4), (8, 5), (8, 7), (8, 8), (7, 8)]
    around += [(row, 8) for row in range(5, -1, -1)]
    apart = [(size - 1 - place, 8) for place in range(7)]
    apart += [(8, size - 8 + place) for place in range(8)]
    for places in (around, apart):
        for number, (row, column) in enumerate(places):
            grid[row][column] = bool(bits >> (14 - number) & 1)


def _penalty(grid: list[list[bool]]) -> int:
    size = len(grid)
    lines = [*grid, *([row[column] for row in grid] for column in range(size))]
    total = 0
    for line in lines:
        text = "".join("1" if one else "0" for one in line)
        run = 1
        for place in range(1, size + 1):
            if place < size and line[place] == line[place - 1]:
                run += 1
            else:
                total += run - 2 if run >= 5 else 0
                run = 1
        total += 40 * sum(
            text.startswith(("10111010000", "00001011101"), place) for place in range(size - 10)
        )
    for row in range(size - 1):
        for column in range(size - 1):
            square = {
                grid[row][column],
                grid[row][column + 1],
                grid[row + 1][column],
                grid[row + 1][column + 1],
            }
            total += 3 if len(square) == 1 else 0
    dark = sum(map(sum, grid)) * 100 // (size * size)
    return total + abs(dark - 50) // 5 * 10
