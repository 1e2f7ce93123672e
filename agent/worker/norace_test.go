//go:build !race

package worker_test

const (
	// propertyChecks is how many histories a property test tries unless -rapid.checks says otherwise.
	propertyChecks = "20"
	// crowd is how many items wait in tests that want many.
	crowd = 10_000
	// crashRounds is how many kills the crash scenario has to survive, unless the environment says otherwise.
	crashRounds = 20
	// crashLogSize is how many events a log of the crash scenario gets before the next is begun, so that checking stays quick.
	crashLogSize = 600
)
