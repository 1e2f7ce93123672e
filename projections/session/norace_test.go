//go:build !race

package session_test

const (
	// propertyChecks is how many histories a property test tries unless -rapid.checks says otherwise.
	propertyChecks = "30"
	// crashLogSize is how many events a log of the crash scenario gets before the next is begun, so that checking stays quick.
	crashLogSize = 600
	// crashRounds is how many kills the crash scenario has to survive, unless the environment says otherwise.
	crashRounds = 20
	// foldsAnew says whether each example of a fold is made anew as well; histories of the property test are in any case.
	foldsAnew = true
)
