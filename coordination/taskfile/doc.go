// Package taskfile reads and writes agents' tasks in Markdown: task files, the pointer to the task in focus, and months of history.
// Agents and people edit these files too, so reading never fails: invalid parts are left out. Whatever the package writes, it reads back
// unchanged.
package taskfile
