"""`portico packages`: what agents have read is listed, shown and removed."""

from tests.review.trees import write
from tests.support.package_registry import client_environ, configure_clients, loopback_registry
from tests.support.program import Portico


def test_a_package_is_shown_listed_and_removed(portico: Portico) -> None:
    home = portico.workspace.parent / "packages-home"
    with loopback_registry() as registry:
        configure_clients(home, registry.address)
        registry.add_wheel("thing", "1.2.0", {"thing/__init__.py": "x = 1\n"}, yanked="\x1b[31mbroken")
        environ = {"HOME": client_environ(home)["HOME"]}
        write(portico.workspace, {"requirements.txt": "thing==1.2.0\n"})
        shown = portico.run("packages", "show", "pypi", "Thing", environ=environ)
        assert shown.code == 0
        assert shown.text.startswith("thing 1.2.0, from requirements.txt\n")
        assert "verified: sha256 of the index" in shown.text
        assert "\x1b" not in shown.text
    api = portico.run("packages", "show", "pypi", "thing", "--api", environ=environ).api
    assert api["package"]["versionOrigin"] == "from requirements.txt"
    listed = portico.run("packages", "list", "--api").api
    assert [one["name"] for one in listed["packages"]] == ["thing"]
    assert "thing 1.2.0" in portico.run("packages", "list").text
    assert portico.run("packages", "clean", "pypi", "thing", "9.9").code == 5
    assert "Removed 1 package" in portico.run("packages", "clean", "pypi", "thing").text
    assert portico.run("packages", "list").text == "No package is in the cache.\n"


def test_mistakes_are_named(portico: Portico) -> None:
    assert "Unknown ecosystem" in portico.run("packages", "show", "cpan", "x").err
    assert "needs NAME" in portico.run("packages", "clean", "pypi").err
    assert "is not a name" in portico.run("packages", "show", "npm", "../x").err
