import { formatQuery, parseQuery } from "./query.js";

/** The address of a search. */
export function searchLink(words, { tags = [], page } = {}) {
  return `/search?${formatQuery({ q: words, tag: tags, page })}`;
}

/** What a link of a search asks for. */
export function readSearch(link) {
  const query = parseQuery(link.slice(link.indexOf("?")));
  return { words: query.q ?? "", tags: [query.tag ?? []].flat(), page: Number(query.page ?? 1) };
}
