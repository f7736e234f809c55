package journal

import _ "embed"

// schema is the schema of the database. Databases with an older schema are not
// migrated: they hold no work.
//
//go:embed schema.sql
var schema string
