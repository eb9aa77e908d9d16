// Content blocks of prompts, answers and tools: files, images, resources.

import { useSignal } from "@preact/signals";
import type { ContentBlock } from "../../model/types";
import type { RowContext } from "./row-context";
import { Code, Icon, useCopy } from "./elements";
import { shortPath } from "./short-path";

/** Context that a link to a file needs from its row or panel. */
export type LinkContext = Pick<RowContext, "gateway" | "workspace">;

interface FileLinkProps {
  readonly path: string;
  readonly line?: number | undefined;
  readonly context: LinkContext;
}

/** Shows the file in the editor, or copies its path where there is none. */
export function FileLink({ path, line, context }: FileLinkProps) {
  const { said, copy } = useCopy();
  const { openFile } = context.gateway;
  const place = line === undefined || line === 0 ? "" : `:${line}`;
  const act = (): void => {
    if (openFile === undefined) copy(path + place);
    else openFile(path, line, context.workspace);
  };
  return (
    <button
      type="button"
      class="p-link-button p-file"
      title={openFile === undefined ? `Copy ${path}${place}` : `Open ${path}${place}`}
      onClick={act}
    >
      <Icon name={said === "Copied" ? "check" : "file"} />
      <span class="p-file-name" aria-live="polite">
        {said === "" ? shortPath(path, context.workspace) + place : said}
      </span>
    </button>
  );
}

export function ContentBlocks({
  blocks,
  context,
}: {
  readonly blocks: readonly ContentBlock[];
  readonly context: RowContext;
}) {
  if (blocks.length === 0) return null;
  return (
    <div class="p-blocks">
      {blocks.map((block, index) => (
        <ContentBlockView key={index} block={block} context={context} />
      ))}
    </div>
  );
}

export function ContentBlockView({
  block,
  context,
}: {
  readonly block: ContentBlock;
  readonly context: RowContext;
}) {
  switch (block.type) {
    case "image":
      return <Picture block={block} />;
    case "resource_link":
      return <Link block={block} context={context} />;
    case "resource":
      return <Resource block={block} context={context} />;
    case "audio":
      return <Chip icon="unmute" words={nameOf(block, "Audio")} />;
    case "other":
      return <Code text={block.json} language="json" context={context} />;
  }
}

function Picture({ block }: { readonly block: ContentBlock }) {
  const large = useSignal(false);
  const name = nameOf(block, "Image");
  if (block.data === "" || !/^image\/[\w.+-]+$/.test(block.mimeType))
    return <Chip icon="file-media" words={name} />;
  return (
    <button
      type="button"
      class={`p-picture${large.value ? " p-picture-large" : ""}`}
      aria-pressed={large.value}
      title={large.value ? "Show smaller" : "Show larger"}
      onClick={() => (large.value = !large.value)}
    >
      <img src={`data:${block.mimeType};base64,${block.data}`} alt={name} />
    </button>
  );
}

function Link({ block, context }: { readonly block: ContentBlock; readonly context: RowContext }) {
  const path = pathOf(block.uri);
  if (path !== undefined) return <FileLink path={path} context={context} />;
  return (
    <button
      type="button"
      class="p-link-button p-file"
      title={block.uri}
      onClick={() => context.gateway.openLink(block.uri)}
    >
      <Icon name="link" />
      <span class="p-file-name">{nameOf(block, block.uri)}</span>
    </button>
  );
}

function Resource({ block, context }: { readonly block: ContentBlock; readonly context: RowContext }) {
  const open = useSignal(false);
  const path = pathOf(block.uri);
  const name = path === undefined ? nameOf(block, "Attached text") : shortPath(path, context.workspace);
  if (block.text === "") return <Chip icon="file" words={name} />;
  return (
    <div class="p-resource">
      <button
        type="button"
        class="p-link-button p-file"
        aria-expanded={open.value}
        onClick={() => (open.value = !open.value)}
      >
        <Icon name={open.value ? "chevron-down" : "chevron-right"} />
        <span class="p-file-name">{name}</span>
      </button>
      {open.value && <Code text={block.text} language={name.split(".").at(-1) ?? ""} context={context} />}
    </div>
  );
}

function Chip({ icon, words }: { readonly icon: string; readonly words: string }) {
  return (
    <span class="p-file p-soft">
      <Icon name={icon} />
      <span class="p-file-name">{words}</span>
    </span>
  );
}

function nameOf(block: ContentBlock, otherwise: string): string {
  return block.name || decoded(block.uri.split("/").at(-1) ?? "") || otherwise;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function pathOf(uri: string): string | undefined {
  if (!uri.startsWith("file://")) return undefined;
  try {
    return decodeURIComponent(new URL(uri).pathname);
  } catch {
    return undefined;
  }
}
