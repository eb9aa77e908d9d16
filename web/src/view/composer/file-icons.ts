// Icon of a file, by its name.

const ENDINGS: readonly (readonly [icon: string, endings: string])[] = [
  ["markdown", "md mdx"],
  ["book", "rst"],
  ["list-flat", "txt"],
  ["json", "json jsonc"],
  ["python", "py pyi"],
  ["ruby", "rb"],
  ["notebook", "ipynb"],
  ["terminal", "sh bash zsh fish ps1"],
  ["database", "sql db sqlite"],
  ["symbol-color", "css scss less"],
  ["settings", "toml yaml yml ini cfg"],
  ["lock", "env"],
  ["file-pdf", "pdf"],
  ["file-zip", "zip gz tar whl"],
  ["file-media", "png jpg jpeg gif webp svg"],
  ["unmute", "mp3 wav"],
  ["device-camera-video", "mp4"],
  ["file-binary", "exe so wasm"],
  [
    "file-code",
    "ts tsx js jsx mjs cjs go rs c h cc cpp hpp java kt swift cs php lua pl scala ex exs hs ml vue svelte html xml proto",
  ],
];

const ICONS = new Map(
  ENDINGS.flatMap(([icon, endings]) => endings.split(" ").map((ending) => [ending, icon] as const)),
);

/** The name of a codicon. */
export function fileIcon(path: string): string {
  if (path.endsWith("/")) return "folder";
  return ICONS.get(path.slice(path.lastIndexOf(".") + 1).toLowerCase()) ?? "file";
}
