"""Every set of options, under every policy, with every kind of client: no grant that was not given."""

import asyncio
import itertools
from collections.abc import Iterator, Sequence

import msgspec
import pytest

from portico.conductor.permissions.action import RequestedAction
from portico.conductor.permissions.approvals import Approval
from portico.conductor.permissions.policy import PermissionPolicy, PermissionRule
from tests.conductor.permission_support import (
    AGENT,
    ALWAYS,
    CANCELLED,
    NEVER,
    NO,
    ONCE,
    OPTIONS,
    WORKSPACE,
    Json,
    Scene,
    broker,
    policy,
    selected,
)

SUBSETS = [subset for size in range(5) for subset in itertools.combinations((ONCE, ALWAYS, NO, NEVER), size)]
STRANGE = [
    (NEVER, NO, ALWAYS, ONCE),
    (ONCE, {**ONCE, "optionId": "yes2"}, NO, {**NO, "optionId": "no2"}),
    (ONCE, ONCE, NO, NO),
    (ONCE, {**NO, "optionId": "yes"}),
    (ONCE, {**NO, "optionId": "yes"}, NEVER),
    (ONCE, {**ALWAYS, "optionId": "yes"}, NO),
    (ONCE, NO, {**NEVER, "optionId": "no"}),
    (ONCE, {**NEVER, "optionId": "no"}, {**ALWAYS, "optionId": "no"}),
]

APPROVED = Approval(id="a1", rule="execute:pytest*", agent=AGENT, workspace=WORKSPACE, created_at=0)
ELSEWHERE = [
    msgspec.structs.replace(APPROVED, agent="another"),
    msgspec.structs.replace(APPROVED, workspace="/work/other"),
    msgspec.structs.replace(APPROVED, rule="execute:make*"),
    msgspec.structs.replace(APPROVED, rule="no rule at all"),
]


class Setting(msgspec.Struct, frozen=True):
    """Policy in force. `answers` is its decision on the question of this page."""

    name: str
    rules: PermissionPolicy
    answers: str | None = None
    approved: tuple[Approval, ...] = ()
    for_session: bool = False


EVERYTHING = policy(allow=["all"], deny=["execute:pytest*"], bypass=True)
SETTINGS = [
    Setting("nothing", policy()),
    Setting("a denial", policy(deny=["execute"]), "denied"),
    Setting("a denial of something else", policy(deny=["execute:make*", "edit", "another/all"])),
    Setting("an allowance", policy(allow=["execute:pytest*"]), "allowed"),
    Setting("an allowance of something else", policy(allow=["execute:make*", "edit", "another/all"])),
    Setting("an approval", policy(), "allowed", (APPROVED,)),
    Setting("approvals of something else", policy(), None, tuple(ELSEWHERE)),
    Setting("an approval for the session", policy(), "allowed", for_session=True),
    Setting("a bypass", policy(bypass=True), "allowed"),
    Setting("a denial and all else", EVERYTHING, "denied", (APPROVED,)),
]


class Kept:
    """Approvals in memory."""

    def __init__(self, approved: Sequence[Approval]) -> None:
        self.approved = list(approved)

    def list(self) -> tuple[Approval, ...]:
        return tuple(self.approved)

    def add(self, rule: PermissionRule, *, workspace: str | None) -> Approval:
        made = Approval(id="new", rule=rule.unscoped, agent=rule.agent, workspace=workspace, created_at=0)
        self.approved.append(made)
        return made

    def revoke(self, approval_id: str) -> Approval:
        raise NotImplementedError

    def use(self, deed: RequestedAction) -> Approval | None:
        return next((one for one in self.approved if one.covers(deed)), None)


class Behaviour(msgspec.Struct, frozen=True):
    """Answers of a client to a question, in order; none for a client that never answers."""

    name: str
    answers: tuple[Json, ...] = ()
    chooses: str | None = None
    scope: str | None = None
    fits: bool = True


def behaviours(options: Sequence[Json]) -> Iterator[Behaviour]:
    for option_id in dict.fromkeys(option["optionId"] for option in options):
        yield Behaviour("chooses", ({"result": selected(option_id)},), option_id)
        for scope in ("once", "session", "always"):
            answer = selected(option_id, _meta={"portico": {"scope": scope}})
            yield Behaviour("chooses a scope", ({"result": answer},), option_id, scope)
        for rule in ("execute:make*", "nonsense"):
            answer = selected(option_id, _meta={"portico": {"scope": "always", "rule": rule}})
            yield Behaviour("chooses a wrong rule", ({"result": answer},), option_id, "always", fits=False)
    for option_id, scope in (("portico:session", "session"), ("portico:always", "always")):
        yield Behaviour("chooses ours", ({"result": selected(option_id)},), option_id, scope)
    yield Behaviour("chooses what is not there", ({"result": selected("unknown")},), "unknown")
    yield Behaviour("fails", ({"error": {"code": -32603, "message": "no"}},))
    yield Behaviour("cancels", ({"result": CANCELLED},), "cancelled")
    for nonsense in (None, {}, {"outcome": "yes"}, {"outcome": {"outcome": "selected"}}):
        yield Behaviour("talks nonsense", ({"result": nonsense},))
    yield Behaviour("changes its mind", ({"result": {}}, {"result": selected("yes")}))
    yield Behaviour("goes away")


class Expected:
    """Promise of `docs/concepts/permissions.md` for one set of options."""

    def __init__(self, options: Sequence[Json]) -> None:
        self.kinds: dict[str, set[str]] = {}
        for option in options:
            self.kinds.setdefault(option["optionId"], set()).add(option["kind"])
        clear_yes = [name for name, kinds in self.kinds.items() if kinds == {"allow_once"}]
        clear_no = [name for name, kinds in self.kinds.items() if kinds <= {"reject_once", "reject_always"}]
        mild_no = [name for name in clear_no if "reject_once" in self.kinds[name]]
        self.once = clear_yes[0] if clear_yes else None
        self.denial = (mild_no + clear_no)[0] if clear_no else "error"

    def decided(self, setting: Setting) -> str | None:
        if setting.answers == "denied":
            return self.denial
        return self.once if setting.answers == "allowed" else None

    def answered(self, behaviour: Behaviour, knows_portico: bool) -> str:
        chosen = behaviour.chooses
        if chosen == "cancelled":
            return chosen
        if chosen in self.kinds:
            mixed = len({kind.partition("_")[0] for kind in self.kinds[chosen]}) > 1
            return self.denial if mixed else chosen
        if chosen is not None and chosen.startswith("portico:") and not knows_portico and self.once:
            return self.once
        return self.denial

    def remembered(self, behaviour: Behaviour, knows_portico: bool) -> str | None:
        if self.once is None or not behaviour.fits or behaviour.scope == "once" or behaviour.chooses is None:
            return None
        by_ours = behaviour.chooses.startswith("portico:")
        if by_ours == knows_portico:
            return None
        kinds = self.kinds.get(behaviour.chooses, {"unknown"})
        return behaviour.scope if by_ours or kinds <= {"allow_once", "allow_always"} else None


async def said(scene: Scene) -> str:
    """Response to the agent: an option, `cancelled` or `error`."""
    answer = await scene.answer()
    if "error" in answer:
        return "error"
    outcome = answer["result"]["outcome"]
    assert "portico" not in answer["result"].get("_meta", {})
    return str(outcome.get("optionId", outcome["outcome"]))


async def allow_for_session(scene: Scene, session_id: str, knows_portico: bool) -> None:
    scene.ask(session_id=session_id)
    by_scope = selected("yes", _meta={"portico": {"scope": "session"}})
    answer = by_scope if knows_portico else selected("portico:session")
    scene.to_agent(id=(await scene.shown())["id"], result=answer)
    assert await said(scene) == "yes"


@pytest.mark.parametrize("knows_portico", [False, True], ids=["any client", "knows portico"])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "options",
    [*SUBSETS, *STRANGE],
    ids=lambda options: "+".join(f"{one['optionId']}={one['kind']}" for one in options) or "none",
)
async def test_nothing_is_granted_that_nobody_gave(
    options: tuple[Json, ...], setting: Setting, knows_portico: bool
) -> None:
    expected = Expected(options)
    for number, behaviour in enumerate(behaviours(options)):
        kept, session_id = Kept(setting.approved), f"session {number}"
        async with broker(kept, setting.rules, knows_portico=knows_portico) as scene, asyncio.timeout(20):
            await scene.open(session_id)
            if setting.for_session:
                await allow_for_session(scene, session_id, knows_portico)
            scene.ask(options=options, session_id=session_id)
            decided = expected.decided(setting)
            if decided is not None:
                if knows_portico:
                    told = await scene.told()
                    assert (told["optionId"] or "error", told["outcome"]) == (decided, setting.answers)
                assert await said(scene) == decided
                await scene.nothing_more()
                return  # however the client would have answered
            shown = await scene.shown()
            assert shown["params"]["options"][: len(options)] == list(options)
            for answer in behaviour.answers:
                scene.to_agent(id=shown["id"], **answer)
            if not behaviour.answers:
                await scene.ends.client.stream.close()
            assert await said(scene) == expected.answered(behaviour, knows_portico), behaviour
            if len(behaviour.answers) == 1:
                scope = expected.remembered(behaviour, knows_portico)
                assert len(kept.approved) == len(setting.approved) + (scope == "always")
                await scene.open("another")
                everywhere = scope == "always" or (setting.answers == "allowed" and not setting.for_session)
                here = everywhere or scope == "session" or setting.for_session
                assert await is_answered(scene, session_id, knows_portico) == here
                assert await is_answered(scene, "another", knows_portico) == everywhere


async def is_answered(scene: Scene, session_id: str, knows_portico: bool) -> bool:
    """Whether the same question, asked again, is answered without the person."""
    scene.ask(options=OPTIONS, session_id=session_id)
    asked_again = scene.ask(session_id="not open")
    answer = await scene.answer()
    if answer["id"] == asked_again:
        await scene.shown()
        return False
    assert answer["result"] == selected("yes")
    assert (await scene.answer())["id"] == asked_again
    if knows_portico:
        await scene.told()
    return True
