//go:build !race

package sqlite_test

// crashLogSize is how many events a log of the crash scenarios gets before the next is begun, so that checking stays quick.
const crashLogSize = 1_000

// migrationRounds is how often a migration is killed.
const migrationRounds = 20
