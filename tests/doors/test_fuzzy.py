"""A file found by a few letters."""

from hypothesis import given
from hypothesis import strategies as st

from portico.doors.path_search import best_matches, with_folders

PATHS = [
    "README.md",
    "src/portico/sessions/service.py",
    "src/portico/sessions/services.py",
    "src/portico/doors/api/session_calls.py",
    "src/portico/doors/web/server.py",
    "tests/sessions/test_client_methods.py",
    "web/src/view/composer/composer.tsx",
]


def found(query: str, limit: int = 10) -> list[str]:
    return [match.path for match in best_matches(PATHS, query, limit)]


def test_the_name_of_a_file_comes_before_the_folders_it_is_in() -> None:
    assert found("service")[:2] == [
        "src/portico/sessions/service.py",
        "src/portico/sessions/services.py",
    ]
    assert found("composer")[0] == "web/src/view/composer/composer.tsx"


def test_initials_find_the_words_they_stand_for() -> None:
    assert found("sc")[0] == "src/portico/doors/api/session_calls.py"
    assert found("readme")[0] == "README.md"


def test_folders_can_be_named_and_capitals_and_spaces_do_not_matter() -> None:
    assert found("web/serv")[0] == "src/portico/doors/web/server.py"
    assert found("WEB\\SERV") == found("web/serv") == found("web / serv")


def test_a_name_that_begins_with_it_comes_before_one_that_contains_it() -> None:
    paths = ["src/reset.py", "src/settings.py", "s/e/t.py"]
    assert [match.path for match in best_matches(paths, "set", 5)][:2] == ["src/settings.py", "src/reset.py"]


def test_folders_are_found_by_their_own_names_and_stand_beside_files() -> None:
    paths = with_folders(PATHS)
    assert [match.path for match in best_matches(paths, "composer", 2)] == [
        "web/src/view/composer/",
        "web/src/view/composer/composer.tsx",
    ]
    assert {match.path for match in best_matches(paths, "", 4)} == {"README.md", "src/", "tests/", "web/"}


def test_letters_that_are_not_there_find_nothing() -> None:
    assert found("qqq") == []
    assert found("yp.ecivres") == []


def test_nothing_asked_gives_what_is_nearest_to_the_top() -> None:
    assert found("", 1) == ["README.md"]
    assert best_matches([], "a", 5) == []
    assert found("s", 0) == []


@given(st.lists(st.text(min_size=1, max_size=30), max_size=8), st.text(max_size=6))
def test_every_match_has_the_letters_in_their_order(paths: list[str], query: str) -> None:
    letters = [letter for letter in query.casefold().replace("\\", "/") if letter != " "]
    for match in best_matches(paths, query, 10):
        assert match.path in paths
        assert list(match.places) == sorted(set(match.places))
        assert all(0 <= place < len(match.path) for place in match.places)
        assert len(match.places) == len(letters)


@given(st.text(alphabet="ab/_-.c", min_size=1, max_size=20), st.data())
def test_any_letters_of_a_path_in_their_order_find_it(path: str, data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.booleans(), min_size=len(path), max_size=len(path)))
    query = "".join(letter for letter, keep in zip(path, kept, strict=True) if keep)
    assert [match.path for match in best_matches([path], query, 5)] == [path]
