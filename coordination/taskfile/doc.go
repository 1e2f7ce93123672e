// Package taskfile reads and writes the Markdown in which agents keep their tasks: task files, the pointer to the task in focus, and months of
// history. Agents and people write these by hand too, so nothing in them is an error: what cannot be read is left out. What the package itself
// writes, it reads again as it was.
package taskfile
