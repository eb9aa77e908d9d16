// What exactly a permission is about: the command, the change, the input, the places.

import type { Gateway } from "../../gateway/types";
import type { DiffPart, Location, PermissionRequested } from "../../generated/portico/v1/events_pb";
import { Prose } from "../../markdown/prose";
import { commandOf, inputText } from "./permission-words";

interface DetailsProps {
    readonly request: PermissionRequested;
    readonly workspace: string;
    readonly gateway: Gateway;
}

export function hasDetails({ content, inputJson, locations }: PermissionRequested): boolean {
    return (
        content.length > 0 || locations.length > 0 || inputText(inputJson).replace(/^(\{\}|null)$/, "") !== ""
    );
}

export function PermissionDetails({ request, workspace, gateway }: DetailsProps) {
    const command = commandOf(request.inputJson);
    const diffs = request.content.flatMap(({ part }) => (part.case === "diff" ? [part.value] : []));
    const texts = request.content.flatMap(({ part }) => (part.case === "text" ? [part.value.text] : []));
    const input = command === undefined && diffs.length === 0 ? inputText(request.inputJson) : "";
    return (
        <div class="p-details">
            {command !== undefined && <pre class="p-mono p-details-code">{command}</pre>}
            {texts.map((text) => (
                <Prose
                    key={text}
                    text={text}
                    open={false}
                    onLink={(url) => gateway.openLink(url)}
                    onFile={gateway.openFile}
                />
            ))}
            {diffs.map((diff) => (
                <Change key={diff.path} diff={diff} workspace={workspace} />
            ))}
            {input !== "" && <pre class="p-mono p-details-code">{input}</pre>}
            {request.locations.length > 0 && (
                <ul class="p-details-places" aria-label="Places">
                    {request.locations.map((place) => (
                        <li key={`${place.path}:${place.line ?? 0}`}>
                            <Place place={place} workspace={workspace} gateway={gateway} />
                        </li>
                    ))}
                </ul>
            )}
        </div>
    );
}

function Place({ place, workspace, gateway }: { place: Location; workspace: string; gateway: Gateway }) {
    const words = `${shortPath(place.path, workspace)}${place.line === undefined ? "" : `:${place.line}`}`;
    const open = gateway.openFile;
    if (open === undefined) return <code title={place.path}>{words}</code>;
    return (
        <button
            type="button"
            class="p-link-button p-mono"
            title={place.path}
            onClick={() => open(place.path, place.line)}
        >
            {words}
        </button>
    );
}

function Change({ diff, workspace }: { diff: DiffPart; workspace: string }) {
    return <pre class="p-mono p-details-code">{`${shortPath(diff.path, workspace)}\n${diff.newText}`}</pre>;
}

function shortPath(path: string, workspace: string): string {
    const root = workspace.replace(/\/+$/, "");
    return root !== "" && path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
}
