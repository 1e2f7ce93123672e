//go:build !race

package sqlite_test

// crashLogSize is how many events a log of the crash scenarios gets before the next is begun, so that checking stays quick.
const crashLogSize = 1_000

// crashRounds is how often appending is killed; 0: as often as the harness does.
const crashRounds = 0

// migrationRounds is how often a migration is killed.
const migrationRounds = 20
