export { check, validateAnswer } from "./validate.js";

export type { Verdict } from "./validate.js";
