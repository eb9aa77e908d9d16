"""Operations on changesets: apply, discard and undo of the proposal behind each."""

from portico.domain.errors import InvalidInput
from portico.doors.ahp import _schema as ahp
from portico.doors.ahp.changesets import APPLY, DISCARD, UNDO, ChangesetProjection
from portico.doors.ahp.host import AgentHost
from portico.doors.ahp.uris import changeset_of
from portico.sessions.review_actions import ApplyReport, ProposalChoice, ProposalFileChoice


async def run_operation(
    host: AgentHost, params: ahp.InvokeChangesetOperationParams
) -> ahp.InvokeChangesetOperationResult:
    """Run an operation. InvalidInput when the changeset does not offer it, or when files conflict."""
    proposal_id = changeset_of(params.channel)
    channel = await host.channel(params.channel)
    changeset = channel.state.changesets.get(proposal_id or "")
    if changeset is None:
        raise InvalidInput(f"{params.channel} is not a changeset.")
    offered = {one.id for one in changeset.state().operations or ()}
    if params.operation_id not in offered:
        known = ", ".join(sorted(offered)) or "none"
        raise InvalidInput(f"Unknown operation {params.operation_id!r}. Available: {known}.")
    reviews, session_id = host.parts.reviews, channel.session_id
    match params.operation_id:
        case op if op == UNDO:
            undone = await reviews.undo(session_id, changeset.proposal.proposal_id)
            if not undone.undone:
                raise InvalidInput(f"The same lines have changed since in {', '.join(undone.conflicted)}.")
            return ahp.InvokeChangesetOperationResult(message="The apply was undone.")
        case op if op == APPLY:
            return _report(await reviews.apply(session_id, _choice(changeset, params.target)))
        case op if op == DISCARD:
            await reviews.discard(session_id, _choice(changeset, params.target))
            return ahp.InvokeChangesetOperationResult(message="Discarded.")
        case _:
            raise InvalidInput(f"Unknown operation {params.operation_id!r}.")


def _choice(changeset: ChangesetProjection, target: ahp.ChangesetOperationTarget | None) -> ProposalChoice:
    proposal = changeset.proposal
    files: tuple[ProposalFileChoice, ...] = ()
    match target:
        case None:
            pass
        case ahp.ChangesetOperationTargetResource(resource=resource):
            try:
                files = (ProposalFileChoice(path=changeset.path_of(resource)),)
            except ValueError as error:
                raise InvalidInput(str(error)) from error
        case ahp.ChangesetOperationTargetRange():
            raise InvalidInput("This operation works on whole files.", suggestion="Choose a file.")
    return ProposalChoice(proposal_id=proposal.proposal_id, revision=proposal.revision, files=files)


def _report(report: ApplyReport) -> ahp.InvokeChangesetOperationResult:
    if report.conflicted:
        raise InvalidInput(
            f"Nothing was applied: {', '.join(report.conflicted)} changed meanwhile.",
            suggestion="Resolve the conflict in Portico's page, or discard the changes.",
        )
    refused = f" Not applied: {', '.join(report.refused)}." if report.refused else ""
    return ahp.InvokeChangesetOperationResult(message=f"Applied.{refused}")
