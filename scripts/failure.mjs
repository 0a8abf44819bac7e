// A failure that a person can act on: its message is all that is shown, without a stack.
export class Failure extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.name = "Failure";
    this.exitCode = exitCode;
  }
}

// The command was told to end: nothing that would come next is begun.
export class Interrupted extends Failure {
  constructor() {
    super("interrupted.", 130);
    this.name = "Interrupted";
  }
}

// Runs a command's main function and turns what it returns or throws into the exit code.
export async function exitWith(main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    console.error(`\nsayso: ${error.message}`);
    process.exitCode = error.exitCode;
  }
}
