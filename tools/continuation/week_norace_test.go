//go:build !race

package continuation_test

// How much happens in the simulated week.
const (
	weekDays     = 7
	weekAgents   = 11
	weekTasks    = 200
	weekDrops    = 2 // of weekTasks, early ones that nobody ever works at
	weekInVain   = 3 // tasks of backlogs that can never begin, at least
	weekChats    = 40
	weekRestarts = 20
)
