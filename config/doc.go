// Package config reads openclaw.json: JSON5 with $include and ${ENV}, into settings with defaults; and changes it where it is asked to.
//
// It promises
//   - to report everything that is wrong at once, each finding with file, line, column, the setting's path and what to do about it;
//   - never to refuse a key because it does not know it: an unknown key is a warning, with the known key that it may have been meant as;
//   - never to show a secret: findings, Masked, Hash and Applied hold none, nor does what a Document shows; an environment variable is shown
//     by its name only;
//   - to read nothing outside the directory of the main file, and there nothing that is not named *.json or *.json5, the script of
//     models.scripted.script among it;
//   - to take bounded time and memory, whatever a file holds.
//
// Document.Write alone writes, and only when it is called: the main file as a whole, atomically, never an included one. What a patch does not
// touch keeps its bytes, comments too. A Config is not changed once it is loaded, nor is a Document; both may be shared between goroutines.
//
// Load is the only way in, for the server as well as for openclawd config check, so that the two can never disagree; a Document reads by
// it too, and is not written unless Load would take it. Findings of severity Error mean that the configuration must not be used; whoever
// holds an older one goes on with that.
package config
