export { declared, fetchCapabilities, readCapabilities } from "./capabilities.js";

export type { CapabilitiesRequest } from "./capabilities.js";
export type { AgentCapabilities } from "@ag-ui/client";
