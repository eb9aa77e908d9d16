// Cards of the timeline.

export type { CardProps, NewSession, OnNewSession } from "./card";
export { EndLine, MarkLine } from "./end-line";
export { ErrorCard } from "./error-card";
export { FailureCard } from "./failure-card";
export { CONTINUED_FROM, CONTINUED_WITH, HandOffMark } from "./hand-off-mark";
export { NoticeLine } from "./notice-line";
export { PendingBar, showRequest } from "./pending-bar";
export { PermissionCard } from "./permission-card";
export { QuestionCard } from "./question-card";
