// Problems that a proposal adds and removes, above its changes.

import type { Gateway } from "../../gateway/gateway";
import type { Review } from "../../model/review";
import { countOf } from "../../model/review-actions";
import { Disclosure } from "../cards/disclosure";
import { ProblemList } from "../timeline/problem-list";

interface ReviewProblemsProps {
  readonly review: Review;
  readonly gateway: Gateway;
  readonly workspace: string;
}

export function ReviewProblems({ review, gateway, workspace }: ReviewProblemsProps) {
  const files = review.problems.files.value;
  if (files.length === 0) return null;
  const added = files.reduce((sum, file) => sum + file.added.length, 0);
  const solved = files.reduce((sum, file) => sum + file.removed.length, 0);
  const counts = [
    added > 0 ? countOf(added, "new problem") : "",
    solved > 0 ? `${countOf(solved, "problem")} solved` : "",
  ];
  return (
    <div class="p-review-problems" role="group" aria-label="Problems of the proposal">
      <Disclosure label={counts.filter((words) => words !== "").join(", ")}>
        <ProblemList files={files} context={{ gateway, workspace }} />
      </Disclosure>
    </div>
  );
}
