// Package config reads openclaw.json (JSON5 with $include and ${ENV}) into settings with defaults, and edits it on
// request.
//
// It guarantees
//   - to report all faults at once, each finding with file, line, column, the setting's path and a hint;
//   - never to refuse an unknown key: it is a warning, with the most similar known key;
//   - never to show a secret: findings, Masked, Hash and Applied contain none, nor does what a Document shows; environment variables are shown
//     by name only;
//   - to read nothing outside the main file's directory, and there only files named *.json or *.json5, including the script of
//     models.scripted.script;
//   - to take bounded time and memory, whatever a file contains.
//
// Only Document.Write writes: the main file as a whole, atomically, never an included one. Parts that a patch does not
// touch keep their bytes, including comments. Configs and Documents are immutable and may be shared between
// goroutines.
//
// Load is the only reader, for the server and for openclawd config check, so that the two always agree; a Document
// also uses it, and is not written unless Load accepts it. With findings of severity Error the configuration must not
// be used; a program that has an older one keeps it.
package config
