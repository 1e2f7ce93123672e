// Package migrations embeds the schema as goose migrations. A released file never changes; a change is a new file.
// Every file has a Down part, so that up-down-up can be tested, but production only migrates up.
package migrations

import "embed"

// Files holds NNNNN_name.sql.
//
//go:embed *.sql
var Files embed.FS
