export const status = (order: number): string => (order > 0 ? "in transit" : "unknown");
