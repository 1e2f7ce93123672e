// Package workspace reads, writes and watches the files of a state directory that agents and people edit: tasks,
// history, plans, the pointer to the current task, the state of the team.
//
// It never leaves the state directory. Every name from outside must be a single valid name; every step down the
// tree goes through os.Root and is verified to have ended at the file it found: a symbolic link anywhere below the
// state directory, a device, a pipe or a directory in the place of a file is refused, even if it is put there
// between check and step. Sizes and numbers are bounded.
//
// The files are the truth. A parsed file is cached, in bounded memory, for as long as the file is unchanged: same
// inode, size and times. Asking again costs a stat per file, and no invalidation is needed.
package workspace
