//go:build race

package sqlite_test

// crashLogSize is how many events a log of the crash scenarios gets before the next is begun, so that checking stays quick.
const crashLogSize = 200

// crashRounds is how often appending is killed: a round takes many times longer here, and the detector looks for other faults.
const crashRounds = 4

// migrationRounds is how often a migration is killed. It takes longer here than a round lasts, so few rounds see one through.
const migrationRounds = 8
