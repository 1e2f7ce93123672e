//go:build race

package continuation_test

// How much happens in the simulated week.
const (
	weekDays     = 1
	weekAgents   = 4
	weekTasks    = 30
	weekDrops    = 1 // of weekTasks, early ones that nobody ever works at
	weekInVain   = 1 // tasks of backlogs that can never begin, at least
	weekChats    = 6
	weekRestarts = 4
)
