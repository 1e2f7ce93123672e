// Package workspace reads, writes and watches the files of a state directory that agents and people edit: tasks, history, plans, the
// pointer to the task in focus, the state of the team.
//
// It never leaves the state directory. Every name that comes from outside is checked to be one name; every step down the tree is taken
// through os.Root and proved to have ended where it looked: a symbolic link anywhere below the state directory, a device, a pipe or a
// directory in the place of a file is refused, also when it is put there between look and step. Sizes and numbers are bounded.
//
// The files are the truth. What was read of one is kept, in bounded memory, for as long as the file is the same: same inode, size and
// times. So asking again costs a look at each file, and nothing has to be told of changes.
package workspace
