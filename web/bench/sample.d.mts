export function answer(length: number): string;
export function terminalOutput(length: number): string;
