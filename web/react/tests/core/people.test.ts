import { expect, test } from "vitest";

import { personName } from "../../src/core/people.js";

test("a person is called by name, the only one there is is you, and one who was erased says so", () => {
  expect(personName("ann")).toBe("ann");
  expect(personName("local")).toBe("you");
  expect(personName("p_A1b2-_A1b2c3D4e5")).toBe("erased person p_A1b2-_A1b2c3D4e5");
  expect(personName("p_short")).toBe("p_short");
});
