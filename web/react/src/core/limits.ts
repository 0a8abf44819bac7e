/** Subschemas of one schema, with what references lead to counted wherever they do. */
export const MAX_SUBSCHEMAS = 2_000;
/** Subschemas inside each other. */
export const MAX_SCHEMA_DEPTH = 32;
/** Values to choose from, in one place: as many as a Sayso server accepts in a schema. */
export const MAX_CHOICES = 10_000;
