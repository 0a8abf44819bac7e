import { useHumanInTheLoop } from "@copilotkit/react-core/v2";
import { z } from "zod";

import { AGENT } from "./settings";
import { Slots } from "./Slots";

const parameters = z.object({ subject: z.string(), slots: z.array(z.string()) });

// A tool of the page's own, which the agent may call: what a person picks is its result. After a
// reload it is asked again, since the server keeps the call until it has one.
export function Meeting() {
  useHumanInTheLoop({
    agentId: AGENT,
    name: "schedule_meeting",
    description: "Lets the user pick a time for a meeting.",
    parameters,
    render: ({ args, respond }) => (
      <Slots subject={args.subject} slots={args.slots} respond={respond} />
    ),
  });
  return null;
}
